from __future__ import annotations

from assay_conformance.pulsar.checks.throttling._rates import plain_limiters, throttles_all
from assay_conformance.pulsar.checks.throttling._supply import gets_its_share
from assay_conformance.pulsar.timeline import Says, Timeline, check, each


@check("throttling.rate-per-partition", where=throttles_all)
def rate_per_partition(timeline: Timeline) -> Says:
    """throttling.rate-per-partition: each partition of a topic gets what the rate allows. (For the upper bound each is
    a topic like any other.)"""
    partitions = [one for one in plain_limiters(timeline) if one.is_partition and one.rate.bytes <= 0]
    yield from each(partitions, gets_its_share, timeline)
