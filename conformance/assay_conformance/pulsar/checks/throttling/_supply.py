"""The lower bound of a rate: a subscription that always has a backlog and permits gets what the rate allows.

Judged where the supply is known: one consumer, from the beginning to the end of its connection, with no faults in the
broker, no other policy that may hold entries back, and no redelivery.
"""

from __future__ import annotations

from assay_conformance.checks.base import View
from assay_conformance.model.case import Who
from assay_conformance.model.event import Fate
from assay_conformance.pulsar.checks.throttling._rates import check_measured
from assay_conformance.pulsar.timeline import Exercised, Limiter, Says, Timeline, breach, ms
from assay_conformance.pulsar.timeline.dispatching import is_limited

LEAST_PERIODS = 3
"""With fewer periods nothing can be judged: a broker that found no tokens looks again a second later."""

MANY_PERIODS = 10
"""From here on no period is subtracted for a first one that is cut short."""

LEAST_SHARE = 0.8
"""Of a rate, on average: looking for tokens again costs a little of every period."""


def periods_supplied(timeline: Timeline, limiter: Limiter) -> int:
    """Return for how many periods its subscription was supplied; 0 where that is not known, or too few to be judged."""
    end_ns = supplied_until(timeline, limiter)
    periods = 0 if end_ns is None else (end_ns - limiter.frames[0].t_ns) // limiter.period_ns
    return periods if periods >= LEAST_PERIODS else 0


def judge_gets_the_rate(timeline: Timeline, limiter: Limiter, unit: str = "messages") -> Says:
    """Judge whether it gets no less than its share.

    `unit`: `messages` or `bytes`, for a rate that limits nothing else.
    """
    is_messages = unit == "messages"
    rate = limiter.rate.messages if is_messages else limiter.rate.bytes
    charges = limiter.messages if is_messages else limiter.sizes
    periods, began = periods_supplied(timeline, limiter), limiter.frames[0]
    if rate <= 0 or not periods:
        return
    until_ns = began.t_ns + periods * limiter.period_ns
    inside = [count for frame, count in zip(limiter.frames, charges, strict=True) if frame.t_ns < until_ns]
    least = LEAST_SHARE * rate * (periods if periods >= MANY_PERIODS else periods - 1)
    if sum(inside) < least:
        last = limiter.frames[len(inside) - 1]
        check_measured(timeline, began, last, until_ns)
        yield breach(
            "starved",
            f"{limiter.what} has a rate of {rate} {unit} per {limiter.rate.period_s} s, and had a backlog and permits "
            f"all the time; expected at least {round(least)} in {periods} periods from {ms(began.t_ns)} on; "
            f"{sum(inside)} were sent",
            *(began, last),
        )


def gets_its_share(timeline: Timeline, limiter: Limiter) -> Says:
    """Judge whether it gets its share of messages, where that is all there is to judge."""
    if limiter.rate.messages > 0 and periods_supplied(timeline, limiter):
        yield Exercised(limiter.frames[-1])
        yield from judge_gets_the_rate(timeline, limiter)


def supplied_until(timeline: Timeline, limiter: Limiter) -> int | None:
    """Return when its only subscription first had no backlog or no permits, or ended; None where that is unknown."""
    supplies = [timeline.supplies[place] for place in limiter.subscriptions]
    if len(supplies) != 1 or supplies[0].is_unclear or not _is_undisturbed(timeline.view):
        return None
    session = supplies[0].session
    if session.request.fate is Fate.ALTERED or session.request.fields.get("initialPosition") != "Earliest":
        return None
    return timeline.bounds.until(session.ended, supplies[0].exhausted_ns)


def _is_undisturbed(view: View) -> bool:
    steps, topology = {step.verb for step in view.case.steps if step.who is Who.BROKER}, view.case.topology
    held_back = any(is_limited(view, topic.name) for topic in topology.topics)
    return view.spares_brokers and steps <= {"store_entries"} and not held_back
