"""Ordering: what one producer sends to one partition stays in call order, all the way.

The chain has four links. The client numbers its messages in call order (`sequence-ids-increase-by-one`) and completes
them in call order (`callbacks-in-send-order`). The broker appends and answers in order of arrival
(`receipts-in-send-order`). And from end to end a topic holds a producer's messages, and an ordered subscription gets
them, in that order, however often the connection died in between (`keeps-send-order`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from assay_conformance.checks.base import CAME, LEFT, Check, ms, on
from assay_conformance.checks.holdings import (
    Holding,
    HoldingsCheck,
    keeps_call_order,
    topic_of,
)
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.checks.tracker import ConsumerSession, Operation
from assay_conformance.checks.worlds import Kind, Standing
from assay_conformance.model.case import Rate
from assay_conformance.model.event import Completion, ErrorClass, Event, Frame, Outcome, Position
from assay_conformance.model.requirement import RequirementId

_ORDERED = ("Exclusive", "Failover")
_OK = Outcome.OK
_CERTAIN, _POSSIBLE = Standing.CERTAIN, Standing.POSSIBLE
_UNLIMITED = Rate()


class KeepsSendOrder(HoldingsCheck):
    """Stored order is judged over possible worlds; dispatch order on each session of an ordered subscription.

    A copy that a resend left behind may come late; a first copy may not.
    """

    requirement = RequirementId("ordering.keeps-send-order")
    skips_plain = True
    codes: ClassVar[dict[Kind, str]] = {Kind.DISORDER: "stored-out-of-order", Kind.LOST: "acked-but-missing"}

    def start(self) -> None:
        super().start()
        self._dispatched: dict[ConsumerSession, _Dispatched] = {}

    def judges(self, holding: Holding) -> bool:
        return keeps_call_order(self, holding)

    def standing(self, holding: Holding, send: Operation) -> Standing:
        end = send.completion
        if end is None or end.outcome is not _OK:
            return _POSSIBLE
        # Loss under deduplication or a publish rate, and of chunks, is the matter of the clauses on those.
        if holding.topic.deduplication or holding.topic.publish_rate != _UNLIMITED:
            return _POSSIBLE
        unit = self.tracker.lines.by_message.get((holding.handle, send.invoke.number or 0))
        chunked = unit is not None and unit.first.meta is not None and unit.first.meta.chunk_id is not None
        return _POSSIBLE if chunked else _CERTAIN

    def exercised_by(self, holding: Holding) -> Iterator[Event]:
        for log in holding.logs.values():
            yield from (entry for _, entry in log[1:])

    @on(Frame, "MESSAGE", seen=LEFT)
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not event.ids:
            return
        position = event.ids[0].position
        before = self._dispatched.get(session)
        if before is None:
            if session.request.fields.get("subType") in _ORDERED:
                self._dispatched[session] = _Dispatched(event, position)
            return
        if position > before.position:
            before.furthest, before.position = event, position
        elif position not in before.positions and not before.sought:
            self.breach(
                "dispatched-out-of-order",
                f"subscription {session.subscription} got entry {event.ids[0].name} at {ms(event.t_ns)}, for "
                f"the first time, after the later entry {before.furthest.ids[0].name} at {ms(before.furthest.t_ns)}",
                before.furthest,
                event,
            )
        before.positions.add(position)

    @on(Frame, "SEEK")
    def seek(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session in self._dispatched:
            self._dispatched[session].sought = True


class _Dispatched:
    """What a consumer session was sent. `position`: that of the furthest."""

    __slots__ = ("furthest", "position", "positions", "sought")

    def __init__(self, first: Frame, position: Position) -> None:
        self.furthest = first
        self.position = position
        self.positions = {position}
        self.sought = False


class ReceiptsInSendOrder(Check):
    """Per producer session, receipts leave the broker in the order in which their SENDs reached it.

    A duplicate's receipt and an error are answered without storing and may overtake. Where a sequence id is
    outstanding twice, its receipt cannot be told apart and is not judged.
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
                f"the broker answered sequence id {event.sequence_id} on connection {event.conn} at {ms(event.t_ns)}, "
                f"after sequence id {arrived.furthest_receipt.sequence_id}, whose SEND came later",
                arrived.furthest_receipt,
                event,
            )
        else:
            arrived.furthest, arrived.furthest_receipt = place, event


class _Arrived:
    """SENDs of one producer session at the broker, by place of arrival."""

    __slots__ = ("_chunked", "_count", "_places", "_riddles", "furthest", "furthest_receipt", "outstanding")

    def __init__(self) -> None:
        self._places: dict[int, tuple[int, ...]] = {}
        self._chunked: set[int] = set()
        self._riddles: set[int] = set()
        """Of which one was answered at once while others waited, a chunk that was refused or one of two messages: which
        one, nobody knows, until all of them are answered."""
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
        """The place of the SEND that this answers; None when there is none, or it may be one of two."""
        sequence_id = event.sequence_id or 0
        places = self._places.get(sequence_id)
        if not places:
            return None
        self.outstanding -= 1
        if len(places) > 1 and (event.command == "SEND_ERROR" or sequence_id not in self._chunked):
            self._riddles.add(sequence_id)
        ambiguous = sequence_id in self._riddles
        if len(places) > 1:
            self._places[sequence_id] = places[1:]
        else:
            del self._places[sequence_id]
            self._riddles.discard(sequence_id)
        return None if ambiguous else places[0]


class CallbacksInSendOrder(Check):
    """Completions of one producer's sends come in call order, as the agent wrote them in callback order.

    Judged are sends that went through the queue: acknowledged ones, and those that timed out. A send refused on the
    spot overtakes by design. Partitions are producers of their own.
    """

    requirement = RequirementId("ordering.callbacks-in-send-order")
    skips_plain = True

    def start(self) -> None:
        self._furthest: dict[int, tuple[Operation, Completion]] = {}
        self._judged: dict[int, bool] = {}

    @on(Completion, "send")
    def completion(self, event: Completion) -> None:
        handle = event.handle
        if handle is None or not self._judges(handle):
            return
        if event.outcome is not _OK and event.error is not ErrorClass.TIMEOUT:
            return
        operation = self.tracker.operations[event.op]
        if operation.completion is not event:
            return
        before = self._furthest.get(handle)
        if before is None:
            self._furthest[handle] = (operation, event)
            return
        number, furthest = operation.invoke.number or 0, before[0].invoke.number or 0
        if number < furthest:
            self.breach(
                "callback-out-of-order",
                f"producer {handle}: message {number} was sent before message {furthest} and completed after it, at "
                f"{ms(event.t_ns)} instead of before {ms(before[1].t_ns)}",
                *self._frames(handle, furthest, number),
                before[1],
                event,
            )
            return
        if operation.invoke.seq < before[1].seq:
            self.exercise(event)
        self._furthest[handle] = (operation, event)

    def _frames(self, handle: int, *numbers: int) -> Iterator[Frame]:
        for number in numbers:
            if (unit := self.tracker.lines.by_message.get((handle, number))) is not None:
                yield unit.first

    def _judges(self, handle: int) -> bool:
        if handle not in self._judged:
            topic = topic_of(self, handle)
            by_key = self.view.producer_setting(handle, "batching_type") == "key_based"
            self._judged[handle] = topic is not None and not topic.partitions and not by_key
        return self._judged[handle]
