"""ordering.receipts-in-send-order"""

from __future__ import annotations

from assay_conformance.checks.base import CAME, LEFT, Check, ms, on
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class ReceiptsInSendOrder(Check):
    """On each producer session receipts leave the broker in the order in which their SENDs reached it.

    The receipt of a duplicate and an error are sent without storing, and may overtake. Where a sequence id is pending
    twice it is unknown which SEND a receipt is for, and it is not judged.
    """

    requirement = RequirementId("ordering.receipts-in-send-order")
    skips_plain = True

    def start(self) -> None:
        self._arrived: dict[tuple[int, int], _Arrived] = {}

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        if event.to_receiver and event.producer_id is not None:
            self._arrived.pop((event.conn, event.producer_id), None)

    @on(Frame, "SEND", seen=CAME)
    def send(self, event: Frame) -> None:
        if event.producer_id is not None:
            key = (event.conn, event.producer_id)
            arrived = self._arrived.get(key)
            if arrived is None:
                arrived = self._arrived[key] = _Arrived()
            arrived.add(event)

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR", seen=LEFT)
    def answer(self, event: Frame) -> None:
        if event.producer_id is None:
            return
        arrived = self._arrived.get((event.conn, event.producer_id))
        place = None if arrived is None else arrived.answered(event)
        if arrived is None or place is None or event.command == "SEND_ERROR" or is_duplicate(event):
            return
        if arrived.outstanding:
            self.exercise(event)
        if place < arrived.furthest and arrived.furthest_receipt is not None:
            self.breach(
                "receipt-out-of-order",
                f"the broker answered sequence id {event.sequence_id} on connection {event.conn} at {ms(event.t_ns)}; "
                f"expected its answer before that to sequence id {arrived.furthest_receipt.sequence_id}, whose SEND "
                f"arrived later and was answered at {ms(arrived.furthest_receipt.t_ns)}",
                arrived.furthest_receipt,
                event,
            )
        else:
            arrived.furthest, arrived.furthest_receipt = place, event


class _Arrived:
    """SENDs of one producer session at the broker, in order of arrival."""

    __slots__ = ("_ambiguous", "_chunked", "_count", "_places", "furthest", "furthest_receipt", "outstanding")

    def __init__(self) -> None:
        self._places: dict[int, tuple[int, ...]] = {}
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
        self._places[sequence_id] = (*self._places.get(sequence_id, ()), self._count)
        if event.meta is not None and event.meta.chunk_id is not None:
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
        if len(places) > 1:
            self._places[sequence_id] = places[1:]
        else:
            del self._places[sequence_id]
            self._ambiguous.discard(sequence_id)
        return None if ambiguous else places[0]
