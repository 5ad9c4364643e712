from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

from assay_conformance.checks.base import View
from assay_conformance.model.event import Stored
from assay_conformance.pulsar.checks.throttling._rates import check_measured, has_rates, plain_limiters
from assay_conformance.pulsar.checks.throttling._supply import supplied_until
from assay_conformance.pulsar.checks.throttling._windows import beyond_the_first_tokens, judge_kept
from assay_conformance.pulsar.timeline import Limiter, Says, Timeline, breach, check, each, ms

BACKLOGGED_ENTRIES = 1_000
"""managedLedgerCursorBackloggedThreshold: a subscription with more entries than this has a backlog."""


def _spares_caught_up(view: View) -> bool:
    return not view.case.topology.settings.throttles_caught_up and has_rates(view)


@check("throttling.no-backlog-not-throttled", where=_spares_caught_up)
def no_backlog_not_throttled(timeline: Timeline) -> Says:
    """throttling.no-backlog-not-throttled: a broker may throttle only subscriptions with a backlog. When it checks for
    one is not specified: below the threshold from the beginning none is throttled, and above it each is."""
    stored = Counter(entry.topic for entry in timeline.events.of(Stored))
    for limiter in plain_limiters(timeline):
        entries = sum(stored[topic] for topic, _ in limiter.subscriptions)
        over = entries - BACKLOGGED_ENTRIES
        if limiter.rate.messages <= 0:
            continue
        if over <= 0:
            yield from each([limiter], _judge_not_throttled, timeline)
        else:
            kept = [charges[:over] for charges in (limiter.messages, limiter.sizes)]
            backlogged = replace(limiter, frames=limiter.frames[:over], messages=kept[0], sizes=kept[1])
            yield from each([backlogged], judge_kept, timeline)


def _judge_not_throttled(timeline: Timeline, limiter: Limiter) -> Says:
    until_ns = supplied_until(timeline, limiter)
    if until_ns is None:
        return
    yield from beyond_the_first_tokens(limiter, limiter.rate.messages, limiter.messages)
    for earlier, frame in pairwise(limiter.frames):
        if frame.t_ns <= until_ns and timeline.bounds.is_past("answer", earlier.t_ns, frame.t_ns):
            check_measured(timeline, earlier, frame)
            yield breach(
                "throttled",
                f"{limiter.what} never had a backlog of {BACKLOGGED_ENTRIES} entries, and had permits and messages; "
                f"expected no throttling; nothing was sent from {ms(earlier.t_ns)} to {ms(frame.t_ns)}",
                *(earlier, frame),
            )
            return
