"""Rates judged from below: who has a backlog and permits all the while gets what its rate allows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.case import Who
from assay_conformance.model.event import Fate, Frame, Stored
from assay_conformance.model.policy import Policies
from assay_conformance.pulsar.checks.throttling._dispatches import DispatchCheck, Dispatches
from assay_conformance.pulsar.timeline.permits import charged

LEAST_PERIODS = 3
"""Less than this tells nothing from below: the broker looks again a second after it found no tokens."""

MANY_PERIODS = 10
"""From here on nothing is taken off for how the first period fell."""

LEAST_SHARE = 0.8
"""Of a rate, on average: looking again costs a little of every period."""


@dataclass(slots=True, eq=False)
class Supply:
    """What one subscription could be sent. `dry_ns`: when it had no backlog or no permits for the first time."""

    session: ConsumerSession
    permits: int = 0
    sent: int = 0
    dry_ns: int | None = None
    unclear: bool = False


class FedCheck(DispatchCheck):
    """Judged from below only where it can be told what was there: one consumer, from the beginning to the end of its
    connection, on a broker that nothing was done to but on the way to it and that no other policy lets hold something
    back, and no message twice."""

    def start(self) -> None:
        super().start()
        steps = [step.verb for step in self.view.case.steps if step.who is Who.BROKER]
        topology = self.view.case.topology
        held_back = any(map(_holds_back, map(topology.policies_of, topology.topics)))
        self._undisturbed = self.view.spares_brokers and set(steps) <= {"store_entries"} and not held_back
        self._stored: Counter[str] = Counter()
        self.stored_entries: Counter[str] = Counter()
        self._supplies: dict[tuple[str, str], Supply] = {}

    @on(Stored)
    def appended(self, event: Stored) -> None:
        self._stored[event.topic] += self.units(event.meta.messages)
        self.stored_entries[event.topic] += 1

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and event.at_broker:
            self._supply(session).permits += event.permits or 0

    @on(Frame, "MESSAGE")
    def fed(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not event.from_sender:
            return
        supply = self._supply(session)
        supply.unclear = supply.unclear or supply.session is not session or bool(event.redelivery_count)
        supply.sent += self.units(event.messages)
        supply.permits -= charged(event)
        if supply.dry_ns is None and (supply.permits <= 0 or supply.sent >= self._stored[session.topic]):
            supply.dry_ns = event.t_ns

    def judge_from_below(self, limiter: Dispatches, unit: str = "messages") -> bool:
        """Whether the limiter was fed for long enough to be judged; a breach where it gave too little.

        `unit` is messages or bytes, of a rate that limits nothing else.
        """
        rate, charges = {
            "messages": (limiter.rate.messages, limiter.messages),
            "bytes": (limiter.rate.bytes, limiter.sizes),
        }[unit]
        period_ns = limiter.period_ns
        end_ns = self.fed_until(limiter)
        began = limiter.frames[0]
        periods = 0 if end_ns is None else (end_ns - began.t_ns) // period_ns
        if rate <= 0 or periods < LEAST_PERIODS:
            return False
        until_ns = began.t_ns + periods * period_ns
        inside = [count for frame, count in zip(limiter.frames, charges, strict=True) if frame.t_ns < until_ns]
        least = LEAST_SHARE * rate * (periods if periods >= MANY_PERIODS else periods - 1)
        if sum(inside) < least:
            last = limiter.frames[len(inside) - 1]
            self.found(
                "starved",
                f"{limiter.what} has a rate of {rate} {unit} per {limiter.rate.period_s} s; from {ms(began.t_ns)} on "
                f"{sum(inside)} left in {periods} periods, with a backlog and permits all the while, where "
                f"{round(least)} are the least",
                began,
                last,
                until_ns,
            )
        return True

    def fed_until(self, limiter: Dispatches) -> int | None:
        """When its one subscription had no backlog or no permits, or was over; None where that cannot be told."""
        supplies = [self._supplies[place] for place in limiter.subscriptions]
        if not self._undisturbed or len(supplies) != 1 or supplies[0].unclear:
            return None
        session, dry_ns = supplies[0].session, supplies[0].dry_ns
        if session.request.fate is Fate.ALTERED or session.request.fields.get("initialPosition") != "Earliest":
            return None
        over_ns = self.tracker.end_ns if session.ended is None else session.ended.t_ns
        return over_ns if dry_ns is None else min(dry_ns, over_ns)

    def _supply(self, session: ConsumerSession) -> Supply:
        return self._supplies.setdefault((session.topic, session.subscription), Supply(session))


def _holds_back(held: Policies) -> bool:
    """Whether something else may keep what is stored from a consumer with permits, or take it away."""
    limits = (held.max_unacked_per_consumer, held.max_unacked_per_subscription)
    return any(map(bool, limits)) or bool(held.message_ttl_s) or held.backlog_quota is not None
