from __future__ import annotations

from assay_conformance.pulsar.checks.throttling._rates import plain_limiters, throttles_all
from assay_conformance.pulsar.checks.throttling._windows import judge_kept
from assay_conformance.pulsar.timeline import Says, Timeline, check, each


@check("throttling.messages-and-bytes-together", where=throttles_all)
def messages_and_bytes_together(timeline: Timeline) -> Says:
    """throttling.messages-and-bytes-together: of rates in messages and in bytes each holds as if it were alone."""
    limited = [one for one in plain_limiters(timeline) if one.rate.messages > 0 and one.rate.bytes > 0]
    for unit in ("messages", "bytes"):
        yield from each(limited, lambda limiter, unit=unit: judge_kept(timeline, limiter, unit))
