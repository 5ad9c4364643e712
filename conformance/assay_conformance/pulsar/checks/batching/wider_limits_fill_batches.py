from __future__ import annotations

import math
from itertools import pairwise

from assay_conformance.model.event import Fired
from assay_conformance.pulsar.checks.batching._costs import BYTES_OVER, FRAMES_OVER, Cost, compared
from assay_conformance.pulsar.checks.batching._limits import Limits, asked_ns
from assay_conformance.pulsar.timeline import MS, TOLERANCES, Exercised, Says, Timeline, breach, check

FEWEST_GAPS = 3


@check("batching.wider-limits-fill-batches", of=compared)
def wider_limits_fill_batches(timeline: Timeline, costs: tuple[Cost, Cost]) -> Says:
    """batching.wider-limits-fill-batches: of two producers under one load, the one whose every limit is as wide or
    wider has larger batches, writes no more frames and no more bytes, and its messages wait no longer than by its
    publish delay. Reported, and counted neither way.

    Judged where the longer delay had something to gather: batches that left by the shorter one close to each other.
    Where something went wrong on the way, or a producer had to come again, waits are not compared.
    """
    smaller, larger = costs
    if not _wider(larger.limits, smaller.limits) or not _close_to_each_other(timeline, smaller, larger.limits):
        return
    yield Exercised(larger.units[0].first)
    if worse := list(_worse(timeline, smaller, larger)):
        # A late machine calls the client late, and hears of it late.
        since_ns, until_ns = larger.units[0].first.t_ns, timeline.bounds.end_ns
        timeline.bounds.check_quiet("batch-delay", since_ns, until_ns, what="whether wider limits gather more")
    yield from worse


def _worse(timeline: Timeline, smaller: Cost, larger: Cost) -> Says:
    evidence = (smaller.units[0].first, larger.units[0].first)
    if len(larger.units) == len(smaller.units):
        yield breach(
            "no-larger-batches",
            f"producer {larger.handle}, with a delay of {larger.limits.delay_ms} ms, put {larger.messages} messages "
            f"into {len(larger.units)} batches; expected fewer batches than producer {smaller.handle} has with "
            f"{smaller.limits.delay_ms} ms; it has as many",
            *evidence,
        )
    allowed_ns = larger.limits.delay_ms * MS + TOLERANCES["batch-delay"].slack_ns
    waited = round(larger.waited_ns / MS), round((smaller.waited_ns + allowed_ns) / MS)
    amounts = [
        ("more-frames", len(larger.units), len(smaller.units) + FRAMES_OVER, "frames"),
        ("more-bytes", larger.bytes, int(smaller.bytes * BYTES_OVER), "bytes"),
    ]
    came_again = any(len(unit.line.sessions) > 1 for cost in (smaller, larger) for unit in cost.units)
    if not came_again and not timeline.events.of(Fired):
        amounts.append(("longer-waits", *waited, "ms on average"))
    for code, came, most, what in amounts:
        if came > most:
            yield breach(
                code,
                f"producer {larger.handle}, whose limits are wider, took {came} {what} for {larger.messages} "
                f"messages; expected at most {most}, as producer {smaller.handle} takes",
                *evidence,
            )


def _close_to_each_other(timeline: Timeline, smaller: Cost, limits: Limits) -> bool:
    """Return whether batches left by the shorter delay, and the longer one would have waited for their next message."""
    waits_ns, gaps = limits.delay_ms * MS // 2, 0
    for unit, after in pairwise(smaller.units) if limits.delay_ms > smaller.limits.delay_ms else ():
        asked, next_ns = asked_ns(timeline.view, unit), asked_ns(timeline.view, after)
        if asked is not None and next_ns is not None and not smaller.limits.reached_by(unit, after, headers=True):
            gaps += next_ns - asked < waits_ns
    return gaps >= FEWEST_GAPS


def _wider(one: Limits, other: Limits) -> bool:
    pairs = ((one.messages, other.messages), (one.bytes, other.bytes), (one.delay_ms, other.delay_ms))
    return one != other and all((mine or math.inf) >= (theirs or math.inf) for mine, theirs in pairs)
