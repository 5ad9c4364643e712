from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.checks.routing._firsts import beside_first, judge_alike
from assay_conformance.pulsar.timeline import Routed, Says, Timeline, check


def _keyless(timeline: Timeline) -> Iterator[tuple[Routed, Routed]]:
    keyless = (one for one in timeline.routed if one.is_keyless and one.producer.setting("routing") == "single")
    return beside_first(keyless, lambda message: message.producer)


@check("routing.single-partition-stays", of=_keyless)
def single_partition_stays(_timeline: Timeline, messages: tuple[Routed, Routed]) -> Says:
    """routing.single-partition-stays: under routing to a single partition all messages without a key go to one."""
    yield from judge_alike(messages, "moved", "neither has a key, and its producer routes to a single one")
