from __future__ import annotations

from assay_conformance.pulsar.checks.throttling._rates import plain_limiters, throttles_all
from assay_conformance.pulsar.checks.throttling._supply import gets_its_share
from assay_conformance.pulsar.timeline import Says, Timeline, check, each


@check("throttling.batch-counts-once", where=throttles_all)
def batch_counts_once(timeline: Timeline) -> Says:
    """throttling.batch-counts-once: a batch is charged as one message: the lower bound counts entries. (The upper
    bound charges entries anyway.)"""
    if timeline.topology.settings.rate_counts_entries:
        limited = [one for one in plain_limiters(timeline) if one.rate.bytes <= 0]
        batched = [one for one in limited if any(frame.messages > 1 for frame in one.frames)]
        yield from each(batched, gets_its_share, timeline)
