"""flow.permits-count-messages"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.model.event import Frame
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.flow._permits import charged
from assay_conformance.pulsar.checks.ordering._handed_over import ORDERED


@dataclass(slots=True)
class _Balance:
    """Permits as the broker's side has them. `credit` counts down the entries a read begun with permits may bring,
    `beside` those of a read that was under way when redelivery was asked for; `alone`: only one consumer is active."""

    permits: int = 0
    credit: int = 0
    beside: int = 0
    alone: bool = False
    last: Frame | None = None


class PermitsCountMessages(Check):
    """A broker sends nothing without permits; what an entry is beyond them is owed, and repaid first.

    A read takes at most as many entries as permits are left, and all of those are sent. Whoever asks for redelivery has
    the dispatcher of one active consumer read anew, beside a read that is under way and not charged yet.
    """

    requirement = RequirementId("flow.permits-count-messages")
    skips_plain = True

    def start(self) -> None:
        self._balances: dict[tuple[int, int], _Balance] = {}

    @on(Frame, "SUBSCRIBE")
    def subscribed(self, event: Frame) -> None:
        if event.at_broker and event.consumer_id is not None:
            self._balances[event.conn, event.consumer_id] = _Balance(alone=event.fields.get("subType") in ORDERED)

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        balance = self._balances.get((event.conn, event.consumer_id or 0))
        if balance is None or not event.at_broker:
            return
        repaid = balance.permits < 0
        balance.permits += event.permits or 0
        balance.credit = max(balance.permits, 0)
        balance.last = event
        if repaid:
            self.exercise(event)

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def reads_anew(self, event: Frame) -> None:
        balance = self._balances.get((event.conn, event.consumer_id or 0))
        if balance is not None and balance.alone and event.at_broker:
            balance.beside = max(balance.permits, 0)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        balance = self._balances.get((event.conn, event.consumer_id or 0))
        if balance is None or not event.at_broker or event.dir is not Direction.TO_CLIENT:
            return
        if balance.credit <= 0 and balance.beside > 0:
            balance.beside -= 1
        elif balance.credit <= 0:
            self.breach(
                "beyond-permits",
                f"the broker sent {event.ids[0].name} to consumer id {event.consumer_id} on "
                f"connection {event.conn} at {ms(event.t_ns)}, with {balance.permits} permits left",
                *([balance.last] if balance.last else []),
                event,
            )
        cost = charged(event)
        balance.permits -= cost
        balance.credit -= 1
        if cost > 1:
            self.exercise(event)
