from __future__ import annotations

from collections import deque

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


@check("ordering.receipts-in-send-order")
def receipts_in_send_order(timeline: Timeline) -> Says:
    """ordering.receipts-in-send-order: on each producer session receipts leave the broker in the order in which their
    SENDs reached it.

    The receipt of a duplicate and an error are sent without storing, and may overtake. Where a sequence id is pending
    twice it is unknown which SEND a receipt is for, and it is not judged.
    """
    sessions: dict[tuple[int, int | None], _Arrived] = {}
    for frame in timeline.events.frames("PRODUCER", "SEND", "SEND_RECEIPT", "SEND_ERROR"):
        place = (frame.conn, frame.producer_id)
        if frame.producer_id is None:
            continue
        if frame.command == "PRODUCER" and frame.to_receiver:
            sessions.pop(place, None)
        elif frame.command == "SEND" and frame.to_receiver:
            sessions.setdefault(place, _Arrived()).add(frame)
        elif frame.command in ("SEND_RECEIPT", "SEND_ERROR") and frame.from_sender and place in sessions:
            yield from _answered(sessions[place], frame)


def _answered(arrived: _Arrived, answer: Frame) -> Says:
    place, before = arrived.answered(answer), arrived.furthest_receipt
    if place is None or answer.command == "SEND_ERROR" or is_duplicate(answer):
        return
    if arrived.outstanding:
        yield Exercised(answer)
    if place < arrived.furthest and before is not None:
        yield breach(
            "receipt-out-of-order",
            f"the broker answered sequence id {answer.sequence_id} on connection {answer.conn} at {ms(answer.t_ns)}; "
            f"expected its answer before that to sequence id {before.sequence_id}, whose SEND arrived later and was "
            f"answered at {ms(before.t_ns)}",
            *(before, answer),
        )
    else:
        arrived.furthest, arrived.furthest_receipt = place, answer


class _Arrived:
    """SENDs of one producer session at the broker, in order of arrival."""

    __slots__ = ("_ambiguous", "_chunked", "_count", "_places", "furthest", "furthest_receipt", "outstanding")

    def __init__(self) -> None:
        self._places: dict[int, deque[int]] = {}
        self._chunked: set[int] = set()
        self._ambiguous: set[int] = set()
        """Sequence ids of several SENDs, one of which was answered at once (a refused chunk, or one of two messages):
        it is unknown which, until all of them are answered."""
        self._count = 0
        self.outstanding = 0
        self.furthest = -1
        self.furthest_receipt: Frame | None = None

    def add(self, event: Frame) -> None:
        sequence_id = event.sequence_id or 0
        self._places.setdefault(sequence_id, deque()).append(self._count)
        if event.is_chunk:
            self._chunked.add(sequence_id)
        self._count += 1
        self.outstanding += 1

    def answered(self, event: Frame) -> int | None:
        """Return the place of the SEND that this answers; None when there is none, or it may be one of two."""
        sequence_id = event.sequence_id or 0
        places = self._places.get(sequence_id)
        if not places:
            return None
        self.outstanding -= 1
        if len(places) > 1 and (event.command == "SEND_ERROR" or sequence_id not in self._chunked):
            self._ambiguous.add(sequence_id)
        ambiguous = sequence_id in self._ambiguous
        place = places.popleft()
        if not places:
            del self._places[sequence_id]
            self._ambiguous.discard(sequence_id)
        return None if ambiguous else place
