"""Cases for negative acknowledgment: when redelivery is requested, of what, and what an ack in between changes."""

from __future__ import annotations

from typing import Any

from assay_conformance.cases.build import STARVED_MS, Schedule
from assay_conformance.cases.stored import batch, chunks, plains
from assay_conformance.model.case import Case, Config, Limits, Tier, Topic, Topology
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault

DELAY_MS = 300
SHARED: Config = {"initial_position": "earliest", "subscription_type": "shared", "nack_delay_ms": DELAY_MS}
EXCLUSIVE: Config = {**SHARED, "subscription_type": "exclusive"}
FINE: Config = {"nack_precision_ms": 1}
"""For what a client cannot show whose requests may come up to 250 ms early."""

REQUESTED_MS = 1_000
"""The delay, the longest tick, the tolerance and a margin: a redelivery that was not requested by then will not be."""

PASSED_MS = 100
"""A message that comes so long after a request was not already in flight when it was sent."""
WINDOW_OVER_MS = 2 * DELAY_MS
LONG_DELAY_MS = 4_000
DEFAULT_OVER_MS = 85_000
"""Most clients wait a minute, and check at most every third of that."""

MANY = 30

STEADY_MS = 50
STEADY_COUNT = 18

REDELIVER = "REDELIVER_UNACKNOWLEDGED_MESSAGES"


def one_of_three() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(3)), receives=3)
    plan.nack(consumer, numbers=[1])
    plan.ack(consumer, numbers=[0, 2])
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.receive(consumer, 1, timeout_ms=2_000)
    plan.wait_ops()
    return plan.case(
        "nack/one-of-three",
        "One message of three is nacked on a shared subscription",
        ("nack.redelivery-requested-in-time",),
        consumer=SHARED,
        limits=Limits(least_wall_ms=DELAY_MS),
    )


def nacked_behind_a_loss() -> Case:
    """Lose the connection; nack what is delivered again, and nack a message of that once more."""
    plan, consumer = Schedule.with_consumer_of(plains(range(3)), receives=3)
    cut = plan.last
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.ack(consumer, numbers=[0, 2])
    plan.nack(consumer, numbers=[1])
    plan.wait_ops(plan.receive(consumer, 1, timeout_ms=2_000))
    return plan.case(
        "nack/nacked-behind-a-loss",
        "The connection is lost; of three messages that are delivered again, two are acknowledged and one is nacked",
        ("nack.redelivery-requested-in-time",),
        consumer=SHARED,
        faults=(Fault(trigger=AfterStep(cut), action=Cut()),),
        limits=Limits(least_wall_ms=DELAY_MS),
    )


def requested_once() -> Case:
    """Nack a message of each of two topics, and let much time pass before they are received again."""
    plan, client = Schedule.with_client()
    for topic in "tu":
        plan.broker("store_entries", topic=topic, entries=plains(range(2)))
    consumer = plan.consumer(client, ["t", "u"])
    plan.wait_ops(plan.receive(consumer, 4, STARVED_MS))
    plan.nack(consumer, messages=[1, 2, 3, 4])
    plan.wait_ms(REQUESTED_MS)
    plan.wait_ops(plan.receive(consumer, 4, STARVED_MS))
    plan.wait_ops(plan.ack(consumer))
    return plan.case(
        "nack/requested-once",
        "Two messages of each of two topics are nacked, and received again",
        ("nack.requested-once", "nack.redelivery-requested-in-time"),
        consumer=SHARED,
        topology=Topology(topics=(Topic(name="t"), Topic(name="u"))),
        limits=Limits(least_wall_ms=DELAY_MS),
    )


def default_delay() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(2)), receives=2)
    plan.nack(consumer, numbers=[1])
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=DEFAULT_OVER_MS)
    plan.receive(consumer, 1, timeout_ms=2_000)
    plan.wait_ops()
    return plan.case(
        "nack/default-delay",
        "One message of two is nacked by a consumer whose delay is its client's default",
        ("nack.redelivery-requested-in-time",),
        consumer={name: value for name, value in SHARED.items() if name != "nack_delay_ms"},
        limits=Limits(case_ms=DEFAULT_OVER_MS + 15_000, least_wall_ms=60_000),
        tier=Tier.FULL,
    )


def first_of_three_exclusive() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(3)), receives=3)
    plan.nack(consumer, numbers=[0])
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.receive(consumer, 3, timeout_ms=2_000)
    plan.wait_ops()
    return plan.case(
        "nack/first-of-three-exclusive",
        "The first message of three is nacked on an exclusive subscription",
        ("nack.redelivery-requested-in-time",),
        consumer=EXCLUSIVE,
        limits=Limits(least_wall_ms=DELAY_MS),
    )


def on_each(words: str, title: str, topology: Topology, *stored_on: str, **fields: Any) -> Case:
    """Nack all messages of each topic or partition."""
    plan = Schedule()
    for number, topic in enumerate(stored_on):
        plan.broker("store_entries", topic=topic, entries=plains([2 * number, 2 * number + 1]))
    consumer = plan.consumer(plan.client(), tuple(topic.name for topic in topology.topics))
    plan.wait_ops(plan.receive(consumer, 2 * len(stored_on), timeout_ms=2_000))
    plan.nack(consumer)
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.receive(consumer, 2 * len(stored_on), timeout_ms=2_000)
    plan.wait_ops()
    return plan.case(
        f"nack/{words}",
        title,
        ("nack.redelivery-requested-in-time",),
        consumer=SHARED,
        topology=topology,
        limits=Limits(least_wall_ms=DELAY_MS),
        **fields,
    )


def on_each_partition() -> Case:
    return on_each(
        "on-each-partition",
        "Messages of two partitions are nacked by the consumer of both",
        Topology(topics=(Topic(name="t", partitions=2),)),
        "t-partition-0",
        "t-partition-1",
        capabilities=("partitioned_topics",),
    )


def on_each_topic() -> Case:
    return on_each(
        "on-each-topic",
        "Messages of two topics are nacked by the consumer of both",
        Topology(topics=(Topic(name="t"), Topic(name="u"))),
        "t",
        "u",
    )


def batch_member() -> Case:
    plan, consumer = Schedule.with_consumer_of([batch(range(3)), *plains([3])], receives=4)
    plan.nack(consumer, numbers=[1])
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.receive(consumer, 3, timeout_ms=2_000)
    plan.wait_ops()
    return plan.case(
        "nack/batch-member",
        "The middle message of a batch of three is nacked",
        ("nack.requests-whole-batch",),
        consumer={**SHARED, "batch_index_ack": False},
        limits=Limits(least_wall_ms=DELAY_MS),
    )


def chunked_message() -> Case:
    """Wait long enough for further commands, if a client spreads the ids over several."""
    plan, consumer = Schedule.with_consumer_of([*chunks(0, 3), *plains([1])], receives=2)
    plan.nack(consumer, numbers=[0])
    plan.ack(consumer, numbers=[1])
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.wait_ms(800)
    plan.receive(consumer, 1, timeout_ms=500)
    plan.wait_ops()
    return plan.case(
        "nack/chunked-message",
        "A message in three chunks is nacked on a shared subscription",
        ("nack.requests-all-chunks",),
        capabilities=("chunking_consumer",),
        consumer=SHARED,
        limits=Limits(least_wall_ms=DELAY_MS),
    )


def nacked_then_acked() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(2)), receives=2)
    plan.nack(consumer, numbers=[0])
    plan.ack(consumer, numbers=[0, 1])
    plan.wait_ms(WINDOW_OVER_MS)
    plan.receive(consumer, 1, timeout_ms=100)
    plan.wait_ops()
    return plan.case(
        "nack/nacked-then-acked",
        "A nacked message is acknowledged before its delay is over",
        ("nack.acked-not-redelivered",),
        consumer={**SHARED, **FINE},
        limits=Limits(least_wall_ms=WINDOW_OVER_MS),
    )


def nacked_then_acked_exclusive() -> Case:
    """Acknowledge a nacked message. The REDELIVER of an exclusive consumer names nothing, and leads to redelivery of
    everything unacknowledged, and only of that.
    """
    plan, consumer = Schedule.with_consumer_of(plains(range(3)), receives=3)
    plan.nack(consumer, numbers=[0, 1])
    plan.ack(consumer, numbers=[0])
    plan.wait_ms(WINDOW_OVER_MS)
    plan.receive(consumer, 3, timeout_ms=100)
    plan.wait_ops()
    return plan.case(
        "nack/nacked-then-acked-exclusive",
        "Two messages are nacked, and one of them is acknowledged, on an exclusive subscription",
        ("nack.acked-not-redelivered",),
        consumer={**EXCLUSIVE, **FINE},
        limits=Limits(least_wall_ms=WINDOW_OVER_MS),
    )


def nacked_three_times() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(2)), receives=2)
    for _ in range(3):
        plan.nack(consumer, numbers=[0])
        plan.receive(consumer, 1, timeout_ms=2_000)
        plan.wait_ops()
    return plan.case(
        "nack/nacked-three-times",
        "The same message is nacked three times on a shared subscription",
        ("nack.redelivery-count",),
        consumer={**SHARED, "nack_delay_ms": 100},
        limits=Limits(least_wall_ms=3 * 100),
    )


def delay_below_minimum() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(2)), receives=2)
    plan.nack(consumer, numbers=[0])
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.receive(consumer, 1, timeout_ms=2_000)
    plan.wait_ops()
    return plan.case(
        "nack/delay-below-minimum",
        "A message is nacked with a redelivery delay of 1 ms",
        ("nack.minimum-delay",),
        consumer={**SHARED, **FINE, "nack_delay_ms": 1},
    )


def many_together() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(MANY)), receives=MANY)
    plan.nack(consumer)
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.receive(consumer, MANY, timeout_ms=2_000)
    plan.wait_ops()
    return plan.case(
        "nack/many-together",
        "Thirty messages are nacked by one call",
        ("nack.requests-merged", "nack.request-names-messages"),
        consumer=SHARED,
        limits=Limits(least_wall_ms=DELAY_MS),
    )


def middle_of_five_exclusive() -> Case:
    """Nack a message in the middle: messages delivered after it are redelivered as well."""
    plan, consumer = Schedule.with_consumer_of(plains(range(5)), receives=5)
    plan.ack(consumer, numbers=[1])
    plan.nack(consumer, numbers=[2])
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.receive(consumer, 4, timeout_ms=1_000)
    plan.wait_ops()
    return plan.case(
        "nack/middle-of-five-exclusive",
        "Of five messages one is acknowledged and one nacked, on an exclusive subscription",
        ("nack.exclusive-redelivers-all-in-order",),
        consumer=EXCLUSIVE,
        limits=Limits(least_wall_ms=DELAY_MS),
    )


def continuous_nacks() -> Case:
    """Nack at shorter intervals than any tick, for longer than delay, tick and tolerance together."""
    plan, consumer = Schedule.with_consumer_of(plains(range(STEADY_COUNT)), receives=STEADY_COUNT)
    for number in range(STEADY_COUNT):
        plan.nack(consumer, numbers=[number])
        plan.wait_ms(STEADY_MS)
    plan.wait_ms(REQUESTED_MS)
    return plan.case(
        "nack/continuous-nacks",
        "A message is nacked, and another every 50 ms after it",
        ("nack.later-nacks-do-not-postpone",),
        consumer={**SHARED, **FINE},
        limits=Limits(least_wall_ms=STEADY_COUNT * STEADY_MS),
    )


def close_with_pending_nacks() -> Case:
    plan, client = Schedule.with_client(stored=plains(range(2)))
    consumer = plan.consumer(client)
    plan.receive(consumer, 2)
    plan.wait_ops()
    plan.nack(consumer)
    plan.wait_ops()
    plan.close(consumer)
    plan.wait_ops()
    following = plan.consumer(client)
    plan.receive(following, 2, timeout_ms=1_000)
    plan.wait_ops()
    plan.ack(following)
    plan.wait_ops()
    return plan.case(
        "nack/close-with-pending-nacks",
        "A consumer nacks two messages and is closed, and another consumer of the subscription is opened",
        ("nack.dropped-on-close",),
        consumer={**SHARED, "nack_delay_ms": LONG_DELAY_MS},
    )
