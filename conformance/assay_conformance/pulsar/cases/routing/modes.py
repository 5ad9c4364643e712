"""Routing on topics of five partitions, since hashes that differ in their sign bit agree modulo powers of two."""

from __future__ import annotations

from collections.abc import Iterable

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Case, Topic, Topology

PARTITIONS = 5
FIVE = Topology(topics=(Topic(name="t", partitions=PARTITIONS),))

MANY_KEYS = tuple(f"key-{number}" for number in range(24))

DISTINGUISHING_KEYS = ("a", "key1", "my-key", "keykeykey2", "order-12345", "206470852", "k1", "键", "é", "€uro", "😀")
"""Keys for which hashes that are unmasked, signed, or of the wrong bytes choose other partitions."""


def send_keys(plan: Schedule, producer: int, keys: Iterable[str]) -> None:
    plan.agent("send", {"producer": producer, "messages": [{"key": key} for key in keys]})


def keys_choose_partition() -> Case:
    """Send each key twice under one mode, and once under the other."""
    plan, client = Schedule.with_client()
    turns, single = plan.producer(client, routing="round_robin"), plan.producer(client, routing="single")
    send_keys(plan, turns, MANY_KEYS)
    send_keys(plan, single, MANY_KEYS)
    send_keys(plan, turns, MANY_KEYS)
    plan.wait_ops()
    return plan.case(
        "routing/keys-choose-partition",
        "Two producers, one for each routing mode, send the same 24 keys to five partitions",
        ("routing.key-chooses-partition",),
        topology=FIVE,
    )


def hashing(scheme: str, words: str, requirement: str) -> Case:
    plan, producer = Schedule.with_producer()
    send_keys(plan, producer, DISTINGUISHING_KEYS)
    plan.wait_ops()
    return plan.case(
        f"routing/{words}",
        f"{len(DISTINGUISHING_KEYS)} keys that distinguish hash schemes go to five partitions",
        (requirement,),
        producer={"hashing_scheme": scheme},
        topology=FIVE,
    )


def default_hash() -> Case:
    plan, producer = Schedule.with_producer()
    send_keys(plan, producer, DISTINGUISHING_KEYS)
    plan.wait_ops()
    return plan.case(
        "routing/default-hash",
        f"{len(DISTINGUISHING_KEYS)} keys that distinguish hash schemes go to five partitions, no scheme configured",
        ("routing.default-hash",),
        topology=FIVE,
    )


def declared_default_hash() -> Case:
    plan, client = Schedule.with_client()
    for routing in ("round_robin", "single"):
        send_keys(plan, plan.producer(client, routing=routing), DISTINGUISHING_KEYS)
    plan.wait_ops()
    return plan.case(
        "routing/declared-default-hash",
        f"Two producers send {len(DISTINGUISHING_KEYS)} keys to five partitions, with no hashing scheme configured",
        ("routing.declared-default-hash",),
        topology=FIVE,
    )


def single_partition() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 6)
    send_keys(plan, producer, MANY_KEYS[:5])
    plan.send(producer, 6)
    plan.wait_ops()
    return plan.case(
        "routing/single-partition",
        "Twelve messages without a key, and five with a key among them, are sent under single-partition routing",
        ("routing.single-partition-stays",),
        producer={"routing": "single"},
        topology=FIVE,
    )


def round_robin() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 8)
    send_keys(plan, producer, MANY_KEYS[:3])
    plan.send(producer, 8)
    plan.wait_ops()
    return plan.case(
        "routing/round-robin",
        "Sixteen messages without a key, and three with a key among them, are sent under round-robin routing",
        ("routing.round-robin-cycle",),
        producer={"routing": "round_robin"},
        topology=FIVE,
    )


def round_robin_start_of_many_producers(words: str, title: str, requirement: str, routing: str) -> Case:
    """Open so many producers that all of them start at the same of five partitions by chance once in 10^13 times. A
    message with a key does not show where its producer starts.
    """
    plan, client = Schedule.with_client()
    producers = [plan.producer(client, wait=False) for _ in range(20)]
    plan.wait_ops()
    send_keys(plan, producers[0], MANY_KEYS[:1])
    for producer in producers:
        plan.send(producer)
    plan.wait_ops()
    return plan.case(
        f"routing/{words}",
        title,
        (requirement,),
        producer={"routing": routing, "batching": False},
        topology=FIVE,
    )


CASES = (
    keys_choose_partition(),
    hashing("java_string", "java-string-hash", "routing.java-string-hash"),
    hashing("murmur3_32", "murmur3-hash", "routing.murmur3-hash"),
    default_hash(),
    declared_default_hash(),
    single_partition(),
    round_robin(),
    round_robin_start_of_many_producers(
        "single-partition-of-many-producers",
        "Twenty producers each send a message to five partitions under single-partition routing",
        "routing.single-partition-is-random",
        "single",
    ),
    round_robin_start_of_many_producers(
        "round-robin-start-of-many-producers",
        "Twenty producers each send a message to five partitions under round-robin routing",
        "routing.round-robin-random-start",
        "round_robin",
    ),
)
