"""The lower bound of a rate: a subscription that always has a backlog and permits gets what the rate allows."""

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
"""With fewer periods nothing can be judged: a broker that found no tokens looks again a second later."""

MANY_PERIODS = 10
"""From here on no period is subtracted for a first one that is cut short."""

LEAST_SHARE = 0.8
"""Of a rate, on average: looking for tokens again costs a little of every period."""


@dataclass(slots=True, eq=False)
class Supply:
    """What one subscription could be sent. `dry_ns`: when it first had no backlog or no permits."""

    session: ConsumerSession
    permits: int = 0
    sent: int = 0
    exhausted_ns: int | None = None
    unclear: bool = False


class SupplyCheck(DispatchCheck):
    """Judge the lower bound where the supply is known: one consumer, from the beginning to the end of its connection,
    with no faults in the broker, no other policy that may hold entries back, and no redelivery."""

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
    def dispatched(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not event.from_sender:
            return
        supply = self._supply(session)
        supply.unclear = supply.unclear or supply.session is not session or bool(event.redelivery_count)
        supply.sent += self.units(event.messages)
        supply.permits -= charged(event)
        if supply.exhausted_ns is None and (supply.permits <= 0 or supply.sent >= self._stored[session.topic]):
            supply.exhausted_ns = event.t_ns

    def judge_from_below(self, limiter: Dispatches, unit: str = "messages") -> bool:
        """Return whether the subscription was supplied for long enough to be judged; report a breach if it got too
        little.

        `unit`: `messages` or `bytes`, for a rate that limits nothing else.
        """
        rate, charges = {
            "messages": (limiter.rate.messages, limiter.messages),
            "bytes": (limiter.rate.bytes, limiter.sizes),
        }[unit]
        period_ns = limiter.period_ns
        end_ns = self.supplied_until(limiter)
        began = limiter.frames[0]
        periods = 0 if end_ns is None else (end_ns - began.t_ns) // period_ns
        if rate <= 0 or periods < LEAST_PERIODS:
            return False
        until_ns = began.t_ns + periods * period_ns
        inside = [count for frame, count in zip(limiter.frames, charges, strict=True) if frame.t_ns < until_ns]
        least = LEAST_SHARE * rate * (periods if periods >= MANY_PERIODS else periods - 1)
        if sum(inside) < least:
            last = limiter.frames[len(inside) - 1]
            self.report(
                "starved",
                f"{limiter.what} has a rate of {rate} {unit} per {limiter.rate.period_s} s, and had a backlog and "
                f"permits all the time; expected at least {round(least)} in {periods} periods from {ms(began.t_ns)} "
                f"on; {sum(inside)} were sent",
                began,
                last,
                until_ns,
            )
        return True

    def supplied_until(self, limiter: Dispatches) -> int | None:
        """Return when its only subscription first had no backlog or no permits, or ended; None where that is
        unknown."""
        supplies = [self._supplies[place] for place in limiter.subscriptions]
        if not self._undisturbed or len(supplies) != 1 or supplies[0].unclear:
            return None
        session, exhausted_ns = supplies[0].session, supplies[0].exhausted_ns
        if session.request.fate is Fate.ALTERED or session.request.fields.get("initialPosition") != "Earliest":
            return None
        ended_ns = self.tracker.end_ns if session.ended is None else session.ended.t_ns
        return ended_ns if exhausted_ns is None else min(exhausted_ns, ended_ns)

    def _supply(self, session: ConsumerSession) -> Supply:
        return self._supplies.setdefault((session.topic, session.subscription), Supply(session))


def _holds_back(held: Policies) -> bool:
    """Whether another policy may keep stored entries from a consumer with permits, or delete them."""
    limits = (held.max_unacked_per_consumer, held.max_unacked_per_subscription)
    return any(map(bool, limits)) or bool(held.message_ttl_s) or held.backlog_quota is not None
