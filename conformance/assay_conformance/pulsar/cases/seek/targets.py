"""Cases for seeks: to a message, into a batch, to a time, and with the answer before or after the new SUBSCRIBE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay_conformance.cases.build import ACKS_FLUSHED_MS, EARLIEST, STARVED_MS, Schedule, down, up
from assay_conformance.cases.stored import batch, plain, plains
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.fault import Cut, Direction, Fault, Hold, Until

RETURNED_MS = 3_000
"""The time in which a client has subscribed again, also on a busy machine."""

FIRST_MS, STEP_MS = 1_000_000, 1_000
"""Publish times of stored messages: message n has FIRST_MS + n * STEP_MS, independent of the wall clock."""

PARTITIONS = 3

HELD_UP_MS = 400
"""The time in which a faulty client ends a seek too early, or accepts a second one."""


def timed(number: int) -> dict[str, Any]:
    return {**plain(number), "metadata": {"publish_time": FIRST_MS + number * STEP_MS}}


def backward_to_message_id() -> Case:
    """Seek back when the receiver queue is full, and acknowledgments are still being grouped."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(20)))
    plan.wait_ops(plan.receive(consumer, 6, STARVED_MS))
    plan.ack(consumer, messages=(3, 4, 5))
    plan.wait_ops(plan.seek(consumer, delivery=2))
    plan.receive(consumer, 18, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "seek/backward-to-message-id",
        "Six of twenty messages are received, three acknowledged, and the consumer seeks back to the second",
        ("seek.starts-at-target", "seek.discards-prefetched", "seek.completes-after-resubscribe"),
        consumer={**EARLIEST, "receiver_queue_size": 10, "ack_group_ms": 100},
    )


def backward_over_acknowledged() -> Case:
    """Acknowledge everything, cumulatively, and seek back; then acknowledge and seek again."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(8)))
    plan.wait_ops(plan.receive(consumer, 8, STARVED_MS))
    for delivery in (8, 14):
        plan.wait_ops(plan.ack(consumer, messages=[delivery], cumulative=True))
        plan.wait_ms(ACKS_FLUSHED_MS)
        plan.wait_ops(plan.seek(consumer, delivery=2))
        plan.wait_ops(plan.receive(consumer, 6, STARVED_MS))
    return plan.case(
        "seek/backward-over-acknowledged",
        "Eight messages are acknowledged cumulatively; the consumer seeks back to the second, and once more",
        ("seek.starts-at-target",),
        capabilities=("cumulative_ack",),
        consumer={**EARLIEST, "ack_group_ms": 100},
    )


def _into_a_batch(words: str, title: str, left: int, **consumer: bool) -> Case:
    """Seek to the third message of a batch of five, after eight of ten were received."""
    plan, reading = Schedule.with_consumer(stored=[batch(range(5)), batch(range(5, 10))])
    plan.wait_ops(plan.receive(reading, 8, STARVED_MS))
    plan.wait_ops(plan.seek(reading, delivery=3))
    plan.receive(reading, left, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        f"seek/{words}",
        title,
        ("seek.starts-at-target", "seek.into-batch-carries-ack-set"),
        capabilities=("batching",),
        assumes=("batch_index",),
        consumer={**EARLIEST, **consumer},
    )


def into_batch() -> Case:
    return _into_a_batch("into-batch", "The consumer seeks back to the third message of a batch of five", 7)


def backward_inclusive() -> Case:
    plan, consumer = Schedule.with_consumer(stored=plains(range(10)))
    plan.wait_ops(plan.receive(consumer, 6, STARVED_MS))
    plan.wait_ops(plan.seek(consumer, delivery=2))
    plan.receive(consumer, 9, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "seek/backward-inclusive",
        "A consumer with start_inclusive seeks back to the second of ten messages",
        ("seek.starts-at-target",),
        consumer={**EARLIEST, "start_inclusive": True},
    )


def into_batch_inclusive() -> Case:
    title = "A consumer with start_inclusive seeks back to the third message of a batch of five"
    return _into_a_batch("into-batch-inclusive", title, 8, start_inclusive=True)


def to_timestamp() -> Case:
    plan, consumer = Schedule.with_consumer(stored=[timed(number) for number in range(10)])
    plan.wait_ops(plan.receive(consumer, 8, STARVED_MS))
    plan.wait_ops(plan.seek(consumer, publish_time_ms=FIRST_MS + 4 * STEP_MS - 1))
    plan.receive(consumer, 6, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "seek/to-timestamp",
        "The consumer seeks to a time just before the fifth of ten messages was published",
        ("seek.starts-at-target",),
        consumer={**EARLIEST, "receiver_queue_size": 4},
    )


def forward() -> Case:
    """Seek forward past all prefetched messages."""
    plan, consumer = Schedule.with_consumer(stored=[timed(number) for number in range(20)])
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.wait_ops(plan.seek(consumer, publish_time_ms=FIRST_MS + 15 * STEP_MS))
    plan.receive(consumer, 5, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "seek/forward",
        "The consumer seeks forward past the eight messages in its receiver queue",
        ("seek.starts-at-target", "seek.discards-prefetched"),
        consumer={**EARLIEST, "receiver_queue_size": 8},
    )


def forward_on_partitions() -> Case:
    """Seek forward on partitions. A client may keep the messages of all partitions in one shared queue."""
    plan = Schedule()
    for partition in range(PARTITIONS):
        entries = [timed(number) for number in range(20)]
        plan.broker("store_entries", topic=f"t-partition-{partition}", entries=entries)
    consumer = plan.consumer(plan.client())
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.wait_frame("MESSAGE", Direction.TO_CLIENT, PARTITIONS * 8, deadline_ms=RETURNED_MS)
    plan.wait_ops(plan.seek(consumer, publish_time_ms=FIRST_MS + 15 * STEP_MS))
    plan.receive(consumer, PARTITIONS * 5, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "seek/forward-on-partitions",
        "A consumer of three partitions seeks forward past all messages in its receiver queues",
        ("seek.discards-prefetched", "robustness.calls-do-not-hang"),
        capabilities=("partitioned_topics",),
        consumer={**EARLIEST, "receiver_queue_size": 8},
        topology=Topology(topics=(Topic(name="t", partitions=PARTITIONS),)),
    )


def _between(words: str, title: str, harm: Callable[[Schedule, int], tuple[Fault, ...]]) -> Case:
    """Seek; `harm` appends what happens between the seek, whose operation it gets, and its end."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(10)))
    plan.wait_ops(plan.receive(consumer, 5, STARVED_MS))
    seek = plan.seek(consumer, delivery=2)
    faults = harm(plan, seek)
    plan.wait_ops(seek)
    plan.receive(consumer, 8, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        f"seek/{words}",
        title,
        ("seek.completes-after-resubscribe", "seek.starts-at-target"),
        consumer=EARLIEST,
        faults=faults,
    )


def _answer_until(until: Until) -> Fault:
    return Fault(trigger=down("SUCCESS", answers="SEEK"), action=Hold(overtake=True), until=until)


def _subscribed_late(plan: Schedule, seek: int) -> tuple[Fault, ...]:
    """Keep the consumer unsubscribed until the seek has ended, or has not ended although it could have."""
    plan.wait_fired(1)
    plan.wait_ops(seek, deadline_ms=HELD_UP_MS)
    return (
        _answer_until(Until(frame=up("SUBSCRIBE"), after_ms=RETURNED_MS)),
        Fault(
            trigger=down("SUCCESS", k=2, answers="SUBSCRIBE"),
            action=Hold(overtake=True),
            until=Until(step=plan.last),
        ),
    )


def full_queues_of_partitions() -> Case:
    """Seek a time when the receiver queues are full; messages come when that has ended."""
    plan = Schedule()
    for partition in range(PARTITIONS):
        entries = [timed(number) for number in range(20)]
        plan.broker("store_entries", topic=f"t-partition-{partition}", entries=entries)
    consumer = plan.consumer(plan.client())
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.wait_frame("MESSAGE", Direction.TO_CLIENT, PARTITIONS * 8, deadline_ms=RETURNED_MS)
    plan.wait_ops(plan.seek(consumer, publish_time_ms=FIRST_MS + 19 * STEP_MS))
    for partition in range(PARTITIONS):
        plan.broker("store_entries", topic=f"t-partition-{partition}", entries=[timed(20)])
    plan.wait_ops(plan.receive(consumer, 2 * PARTITIONS, STARVED_MS))
    return plan.case(
        "seek/full-queues-of-partitions",
        "A consumer of three partitions with full receiver queues seeks forward, and messages are stored behind that",
        ("delivery.reaches-waiting-receive", "seek.discards-prefetched"),
        capabilities=("partitioned_topics",),
        consumer={**EARLIEST, "receiver_queue_size": 8},
        topology=Topology(topics=(Topic(name="t", partitions=PARTITIONS),)),
    )


def response_before_resubscribe() -> Case:
    return _between(
        "response-before-resubscribe",
        "The answer to SEEK arrives before the consumer has subscribed again",
        _subscribed_late,
    )


def _answered_late(plan: Schedule, _seek: int) -> tuple[Fault, ...]:
    """Answer late, however long the client takes to subscribe again.

    Ten messages arrive before the seek, and nine after it. A client with a small queue does not get so many.
    """
    plan.wait_frame("MESSAGE", Direction.TO_CLIENT, 10 + 9, deadline_ms=RETURNED_MS)
    return (_answer_until(Until(step=plan.last)),)


def response_after_resubscribe() -> Case:
    return _between(
        "response-after-resubscribe",
        "The answer to SEEK arrives after the consumer has subscribed again",
        _answered_late,
    )


def cut_after_response() -> Case:
    return _between(
        "cut-after-response",
        "The connection is lost right after the answer to SEEK",
        lambda _plan, _seek: (Fault(trigger=down("SUCCESS", answers="SEEK"), action=Cut()),),
    )


def concurrent_seeks() -> Case:
    plan, consumer = Schedule.with_consumer(stored=plains(range(10)))
    plan.wait_ops(plan.receive(consumer, 5, STARVED_MS))
    plan.seek(consumer, delivery=2)
    plan.wait_frame("SEEK", Direction.TO_BROKER)
    beside = plan.seek(consumer, delivery=4)
    plan.wait_fired(1)
    plan.wait_ops(beside, deadline_ms=HELD_UP_MS)
    asked = plan.last
    plan.wait_ops()
    plan.receive(consumer, 8, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "seek/concurrent-seeks",
        "A consumer seeks elsewhere while the broker's answer to its first seek is held",
        ("seek.one-at-a-time",),
        consumer=EARLIEST,
        faults=(
            Fault(trigger=down("CLOSE_CONSUMER"), action=Hold(), until=Until(step=asked)),
            Fault(trigger=down("SUCCESS", answers="SEEK"), action=Hold(), until=Until(step=asked)),
        ),
    )
