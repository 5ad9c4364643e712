from __future__ import annotations

from assay_conformance.pulsar.checks.throttling._rates import plain_limiters, throttles_all
from assay_conformance.pulsar.checks.throttling._supply import judge_gets_the_rate
from assay_conformance.pulsar.checks.throttling._windows import judge_kept
from assay_conformance.pulsar.timeline import Says, Timeline, check, each


@check("throttling.dispatch-byte-rate-holds", where=throttles_all)
def dispatch_byte_rate_holds(timeline: Timeline) -> Says:
    """throttling.dispatch-byte-rate-holds: a rate in bytes only, those of entries as they are stored, is neither
    exceeded nor denied."""
    limited = [one for one in plain_limiters(timeline) if one.rate.bytes > 0 and one.rate.messages <= 0]
    yield from each(limited, lambda limiter: judge_kept(timeline, limiter, "bytes"))
    yield from each(limited, lambda limiter: judge_gets_the_rate(timeline, limiter, "bytes"))
