"""Letters that were refused, or chunks of them: what is left is none, unless the refused chunk is sent again."""

from __future__ import annotations

from assay_conformance.checks.consumption import from_client
from assay_conformance.checks.lines import Unit
from assay_conformance.model.event import Frame


class Refusals:
    """What refused a letter, as long as nobody has tried it once more on another connection."""

    def __init__(self) -> None:
        self._answers: dict[str | int, tuple[Frame, int | None]] = {}
        """Letter -> its refusal, and the chunk that was refused."""

    def refused(self, unit: Unit, answer: Frame) -> None:
        meta = unit.first.meta
        self._answers[whole(unit)] = (answer, None if meta is None else meta.chunk_id)

    def sent(self, event: Frame) -> None:
        """A SEND, perhaps of what was refused."""
        if event.meta is None or event.meta.uuid is None or not from_client(event):
            return
        if self._answers.get(event.meta.uuid, (None, None))[1] == event.meta.chunk_id:
            self._answers.pop(event.meta.uuid, None)

    def of(self, unit: Unit) -> Frame | None:
        return self._answers.get(whole(unit), (None, None))[0]


def whole(unit: Unit) -> str | int:
    """What the chunks of a letter have in common; of one that is sent whole, what it has with nothing else."""
    meta = unit.first.meta
    return id(unit) if meta is None or meta.uuid is None else meta.uuid
