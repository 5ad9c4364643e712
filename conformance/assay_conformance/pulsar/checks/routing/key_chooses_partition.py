from __future__ import annotations

from collections.abc import Hashable, Sequence

from assay_conformance.pulsar.checks.routing._firsts import beside_first, judge_alike
from assay_conformance.pulsar.timeline import Exercised, Routed, Says, Timeline, breach, check, each

KEYS_THAT_SPREAD = 20
"""So many different keys, hashed, share one of three partitions or more by chance once in 10^9 times."""


@check("routing.key-chooses-partition")
def key_chooses_partition(timeline: Timeline) -> Says:
    """routing.key-chooses-partition: the same key goes to the same partition, whichever routing mode a producer of that
    hashing scheme has; and keys are spread, not sent where messages without one go."""
    keyed = (message for message in timeline.routed if message.key is not None)
    yield from each(beside_first(keyed, _hashed_alike), _stays)
    yield from each(timeline.routed_by_producer.values(), _spread)


def _hashed_alike(message: Routed) -> Hashable:
    """Return what is hashed alike. Producers of an unknown scheme are each alone with it."""
    producer = message.producer
    return producer.topic, producer.setting("hashing_scheme") or producer, message.key


def _stays(messages: tuple[Routed, Routed]) -> Says:
    why = f"both have the same key, and the topic had {messages[1].producer.partitions} partitions all the time"
    yield from judge_alike(messages, "key-moved", why)


def _spread(messages: Sequence[Routed]) -> Says:
    by_key: dict[str, Routed] = {}
    for message in messages:
        if message.key is not None:
            by_key.setdefault(message.key, message)
    firsts, producer = list(by_key.values()), messages[0].producer
    if len(firsts) < KEYS_THAT_SPREAD or producer.partitions < 3:
        return
    yield Exercised(firsts[-1].frame)
    if len({message.partition for message in firsts}) == 1:
        yield breach(
            "keys-ignored",
            f"producer {producer.handle}: expected {len(firsts)} different keys to go to several of its "
            f"{producer.partitions} partitions; all went to partition {firsts[0].partition}",
            *(firsts[0].frame, firsts[-1].frame),
        )
