"""Room for chunked messages, both ways. Message 0 has three chunks."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import MESSAGE_BYTES, NAME, Script
from assay_conformance.model.event import Meta

CHUNKS = 3


class Story(Script):
    def __init__(self, **config: Any) -> None:
        super().__init__()
        self.producer(**{"chunking": True, "max_pending_messages": 4, **config})

    def large(self, *, answered: bool) -> None:
        """Message 0 leaves in chunks; receipted or not."""
        self.send(0, size=CHUNKS * MESSAGE_BYTES)
        for chunk in range(CHUNKS):
            meta = Meta(producer_name=NAME, sequence_id=0, uuid="p-0", chunk_id=chunk, chunks=CHUNKS)
            last: dict[str, Any] = {} if chunk == CHUNKS - 1 else {"members": ()}
            self.send_frame(0, meta=meta, unit=chunk, **last)
        if answered:
            for _ in range(CHUNKS):
                self.receipt(0)
            self.ok(0)

    def small(self, *numbers: int) -> None:
        for number in numbers:
            self.send(number)
            self.send_frame(number)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        said = trial(check, self.done())
        return [finding.code for finding in said.findings], said.exercised
