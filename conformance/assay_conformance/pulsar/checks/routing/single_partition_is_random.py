from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay_conformance.pulsar.checks.routing._first_partition import begin_apart, first_messages
from assay_conformance.pulsar.timeline import Routed, Says, Timeline, check


def _single(timeline: Timeline) -> Iterable[Sequence[Routed]]:
    return first_messages(timeline, lambda producer: producer.setting("routing") == "single")


@check("routing.single-partition-is-random", of=_single)
def single_partition_is_random(timeline: Timeline, messages: Sequence[Routed]) -> Says:
    """routing.single-partition-is-random: the one partition that a producer keeps to is chosen at random."""
    yield from begin_apart(timeline, messages)
