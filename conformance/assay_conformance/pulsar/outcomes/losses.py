"""The actions of faults that bring the loss of an answer about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from assay_conformance.model.fault import Action, Cut, CutHow, Delay, Drop, Duplicate, Inject, Truncate
from assay_conformance.pulsar.outcomes.requests import Cell, Loss

HEADER_BYTES: Final = 6
"""The sizes of a frame, and some of its command."""

_ON_ANSWER: Final[Mapping[Loss, Action]] = {
    Loss.NO_ANSWER: Drop(),
    Loss.LOST_BEFORE: Cut(before=True),
    Loss.LOST_INSIDE: Truncate(HEADER_BYTES),
    # After FIN, what came before it is read.
    Loss.LOST_BEHIND: Cut(how=CutHow.FIN),
    Loss.TWICE: Duplicate(),
}


def actions_of(cell: Cell, late_ms: int) -> tuple[Action, ...]:
    """Return what happens to the answer of a cell with a loss. `late_ms`: how long a late answer takes."""
    loss = Loss(cell.answer)
    if loss is Loss.OTHER_KIND:
        return _other_than(cell), Drop()
    return (Delay(late_ms, overtake=True) if loss is Loss.LATE else _ON_ANSWER[loss],)


def _other_than(cell: Cell) -> Inject:
    """Return an answer of another kind. A SUCCESS admits a producer, to some clients, and CONNECT has no number."""
    number = 0 if cell.request.command == "CONNECT" else "$request_id"
    if cell.request.answer in ("SUCCESS", "PRODUCER_SUCCESS"):
        named = {"last_message_id.ledgerId": 1, "last_message_id.entryId": 1}
        return Inject(command="GET_LAST_MESSAGE_ID_RESPONSE", fields={"request_id": number, **named}, before=True)
    return Inject(command="SUCCESS", fields={"request_id": number}, before=True)
