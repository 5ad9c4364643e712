"""ordering.keeps-send-order"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from assay_conformance.checks.base import LEFT, ms, on
from assay_conformance.checks.holdings import Holding, HoldingsCheck, keeps_call_order
from assay_conformance.checks.tracker import ConsumerSession, Operation
from assay_conformance.checks.worlds import Kind, Standing
from assay_conformance.model.case import Rate
from assay_conformance.model.event import Event, Frame, Outcome, Position
from assay_conformance.model.requirement import RequirementId

_OK = Outcome.OK
_ORDERED = ("Exclusive", "Failover")
_CERTAIN, _POSSIBLE = Standing.CERTAIN, Standing.POSSIBLE
_UNLIMITED = Rate()


class KeepsSendOrder(HoldingsCheck):
    """Storing order is judged over possible worlds; dispatch order on each session of an ordered subscription.

    A second copy of a resend may come late; the first one may not.
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
        # Loss with deduplication or a publish rate, and of chunks, is judged by the requirements about these.
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
                f"subscription {session.subscription} got entry {event.ids[0].name} for the first time at "
                f"{ms(event.t_ns)}; expected it before the later entry {before.furthest.ids[0].name}, which it got at "
                f"{ms(before.furthest.t_ns)}",
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
    """What a consumer session was sent. `position`: that of the furthest entry."""

    __slots__ = ("furthest", "position", "positions", "sought")

    def __init__(self, first: Frame, position: Position) -> None:
        self.furthest = first
        self.position = position
        self.positions = {position}
        self.sought = False
