from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from assay_conformance.pulsar.checks.routing._turns import in_call_order
from assay_conformance.pulsar.timeline import Exercised, Routed, Says, Timeline, breach, check, ms


def _neighbours(timeline: Timeline) -> Iterator[tuple[Routed, Routed]]:
    """Yield messages without a key, in the order of their calls, each with the one before it.

    All between them are known: one that never left may have had its turn, too, and so may one with an ordering key
    alone.
    """
    for messages in timeline.routed_by_producer.values():
        if messages[0].producer.takes_turns(batching=False):
            known = (message for message in messages if message.is_keyless or message.key is not None)
            for stretch in in_call_order(known):
                yield from pairwise(message for message in stretch if message.is_keyless)


@check("routing.round-robin-cycle", of=_neighbours)
def round_robin_cycle(timeline: Timeline, messages: tuple[Routed, Routed]) -> Says:
    """routing.round-robin-cycle: without batching, each message without a key goes to the partition after that of the
    previous message. A partition whose queue was full may have been passed over."""
    before, message = messages
    yield Exercised(message.frame)
    partitions, seq = message.producer.partitions, message.frame.seq
    expected, passed = (before.partition + 1) % partitions, (message.partition - 1) % partitions
    if message.partition != expected and not timeline.partition_queues.is_full(message.producer, passed, seq):
        yield breach(
            "out-of-turn",
            f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}; expected partition "
            f"{expected} of {partitions}, since {before} went to {before.partition}",
            *(before.frame, message.frame),
        )
