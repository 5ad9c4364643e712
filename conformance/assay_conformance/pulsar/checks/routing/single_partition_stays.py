from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.checks.routing._firsts import beside_first
from assay_conformance.pulsar.timeline import Exercised, Routed, Says, Timeline, breach, check, ms


def _keyless(timeline: Timeline) -> Iterator[tuple[Routed, Routed]]:
    keyless = (one for one in timeline.routed if one.is_keyless and one.producer.setting("routing") == "single")
    return beside_first(keyless, lambda message: message.producer)


@check("routing.single-partition-stays", of=_keyless)
def single_partition_stays(timeline: Timeline, messages: tuple[Routed, Routed]) -> Says:
    """routing.single-partition-stays: under routing to a single partition all messages without a key go to one."""
    first, message = messages
    yield Exercised(message.frame)
    if message.partition != first.partition:
        yield breach(
            "moved",
            f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}, and {first} to partition "
            f"{first.partition}; expected one for all",
            *(first.frame, message.frame),
        )
