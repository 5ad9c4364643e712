from __future__ import annotations

from assay_conformance.pulsar.checks.throttling._rates import plain_limiters, throttles_all
from assay_conformance.pulsar.checks.throttling._supply import judge_gets_the_rate
from assay_conformance.pulsar.checks.throttling._windows import judge_kept
from assay_conformance.pulsar.timeline import Says, Timeline, check, each


@check("throttling.dispatch-rate-holds", where=throttles_all)
def dispatch_rate_holds(timeline: Timeline) -> Says:
    """throttling.dispatch-rate-holds: a rate in messages, of one level and with a period of a second, is neither
    exceeded nor denied. The lower bound of partitions, and of batches that count as one, is judged by other checks."""
    limited = [one for one in plain_limiters(timeline) if one.rate.messages > 0 and one.rate.bytes <= 0]
    yield from each(limited, judge_kept, timeline)
    if not timeline.topology.settings.rate_counts_entries:
        yield from each((one for one in limited if not one.is_partition), judge_gets_the_rate, timeline)
