"""Which consumer of a Failover subscription is the active one (AbstractDispatcherSingleActiveConsumer of 4.0).

Those of the best priority are asked, in the order of their names. The partitions of a topic take them in turn; a topic
without partitions looks for its own name on a ring with 100 points a consumer, each the hash of its name and a number.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.names import TopicName
from assay_conformance.broker.rules import RING_POINTS
from assay_conformance.wire import murmur3_32


def rank(consumer: Consumer) -> tuple[int, str]:
    """Return the key by which consumers are sorted."""
    return consumer.priority, consumer.name


def active_of(consumers: Sequence[Consumer], topic: TopicName) -> Consumer:
    """Return the active one of these consumers, which are sorted and at least one."""
    best = [consumer for consumer in consumers if consumer.priority == consumers[0].priority]
    if len(best) == 1:
        return best[0]
    if topic.partition >= 0:
        return best[topic.partition % len(best)]
    # Of two at one point, such as consumers of one name, the later counts.
    ring = {
        murmur3_32(f"{consumer.name}{point}".encode()): consumer for consumer in best for point in range(RING_POINTS)
    }
    place = murmur3_32(topic.full.encode())
    return ring[min((point for point in ring if point >= place), default=min(ring))]
