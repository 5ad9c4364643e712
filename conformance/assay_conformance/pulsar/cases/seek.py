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


def _reader(plan: Schedule, begins: str = "earliest", subscription: str = "s", *, inclusive: bool = False) -> int:
    client = plan.client()
    if inclusive:
        return plan.consumer(client, subscription=subscription, durable=False, start_inclusive=True)
    return plan.consumer(client, subscription=subscription, durable=False, initial_position=begins)


def _asks_for_more(plan: Schedule, reader: int) -> None:
    """Append a call of has_message_available."""
    plan.wait_ops(plan.has_message_available(reader))


def _reads(plan: Schedule, reader: int, count: int) -> None:
    plan.wait_ops(plan.receive(reader, count, STARVED_MS))
    _asks_for_more(plan, reader)


def _seeks(plan: Schedule, reader: int, **place: int) -> None:
    plan.wait_ops(plan.seek(reader, **place))
    _asks_for_more(plan, reader)


def has_message_available() -> Case:
    """Read to the end from three positions, and call has_message_available on the way."""
    plan = Schedule(stored=[timed(number) for number in range(10)])
    reader = _reader(plan)
    _asks_for_more(plan, reader)
    _reads(plan, reader, 10)
    _seeks(plan, reader, delivery=8)
    _reads(plan, reader, 2)
    _seeks(plan, reader, publish_time_ms=FIRST_MS + 8 * STEP_MS)
    _reads(plan, reader, 1)
    _reads(plan, reader, 1)
    return plan.case(
        "seek/has-message-available",
        "A reader reads ten messages, the last two again by id and by time, and calls has_message_available each time",
        ("seek.has-message-available-after-read", "seek.has-message-available-before-read"),
        consumer=EARLIEST,
    )


def has_message_available_from_latest() -> Case:
    """Start at the end of the topic, and seek back by time before anything is read."""
    plan = Schedule(stored=[timed(number) for number in range(10)])
    reader = _reader(plan, "latest")
    _seeks(plan, reader, publish_time_ms=FIRST_MS + 3 * STEP_MS)
    for _ in range(7):
        _reads(plan, reader, 1)
    return plan.case(
        "seek/has-message-available-from-latest",
        "A reader at the end of ten messages seeks to the fourth by time, and calls has_message_available before each "
        "message",
        (
            "seek.has-message-available-before-read",
            "seek.has-message-available-after-read",
            "seek.starts-at-target",
        ),
    )


def has_message_available_at_end() -> Case:
    """Put the reader after the last message, by its start or by a seek."""
    plan = Schedule(stored=[timed(number) for number in range(4)])
    at_the_end = _reader(plan, "latest", "behind")
    _asks_for_more(plan, at_the_end)
    reader = _reader(plan)
    plan.wait_ops(plan.receive(reader, 4, STARVED_MS))
    _seeks(plan, reader, delivery=4)
    return plan.case(
        "seek/has-message-available-at-end",
        "One reader starts at the end of its topic, and another seeks to the last message",
        ("seek.has-message-available-before-read",),
        consumer=EARLIEST,
    )


def time_after_last_message() -> Case:
    plan = Schedule(stored=[timed(number) for number in range(4)])
    for begins in ("earliest", "latest"):
        _seeks(plan, _reader(plan, begins, begins), publish_time_ms=FIRST_MS + 9 * STEP_MS)
    reader = _reader(plan)
    plan.wait_ops(plan.receive(reader, 4, STARVED_MS))
    _seeks(plan, reader, publish_time_ms=FIRST_MS + 9 * STEP_MS)
    return plan.case(
        "seek/time-after-last-message",
        "Readers at the beginning, at the end and in between seek to a time after the last message",
        ("seek.has-message-available-before-read",),
        consumer=EARLIEST,
    )


def time_after_last_message_inclusive() -> Case:
    """Seek to a time with `start_inclusive`, which applies to message ids and not to times."""
    plan = Schedule(stored=[timed(number) for number in range(4)])
    _seeks(plan, _reader(plan, inclusive=True), publish_time_ms=FIRST_MS + 9 * STEP_MS)
    return plan.case(
        "seek/time-after-last-message-inclusive",
        "A reader with start_inclusive seeks to a time after the last message",
        ("seek.has-message-available-before-read",),
        consumer=EARLIEST,
    )


def grows_behind_latest() -> Case:
    """Start at the end, and call has_message_available before and after each new message."""
    plan = Schedule(stored=[timed(number) for number in range(3)])
    reader = _reader(plan, "latest")
    _asks_for_more(plan, reader)
    for number in (3, 4):
        plan.broker("store_entries", topic="t", entries=[timed(number)])
        _asks_for_more(plan, reader)
        _reads(plan, reader, 1)
    return plan.case(
        "seek/grows-behind-latest",
        "A reader at the end of three messages calls has_message_available before and after each new one",
        (
            "seek.has-message-available-before-read",
            "seek.has-message-available-after-read",
            "delivery.reaches-waiting-receive",
        ),
    )


def grows_behind_time() -> Case:
    """Seek to a time after the last message: a message sent after that is available, whatever its publish time."""
    plan = Schedule(stored=[timed(number) for number in range(3)])
    reader = _reader(plan)
    _seeks(plan, reader, publish_time_ms=FIRST_MS + 9 * STEP_MS)
    plan.broker("store_entries", topic="t", entries=[timed(3)])
    _asks_for_more(plan, reader)
    _reads(plan, reader, 1)
    return plan.case(
        "seek/grows-behind-time",
        "A reader seeks to a time after the last message, and then one is sent",
        ("seek.has-message-available-before-read", "seek.has-message-available-after-read"),
        consumer=EARLIEST,
    )


def empty_topic() -> Case:
    plan = Schedule()
    reader = _reader(plan)
    _asks_for_more(plan, reader)
    return plan.case(
        "seek/empty-topic",
        "A reader of a topic without messages calls has_message_available",
        ("seek.has-message-available-before-read",),
        consumer=EARLIEST,
    )


def empty_topic_inclusive() -> Case:
    """Begin at the latest message, inclusive, of a topic that has none."""
    plan = Schedule()
    reader = plan.consumer(plan.client(), durable=False, initial_position="latest", start_inclusive=True)
    _asks_for_more(plan, reader)
    return plan.case(
        "seek/empty-topic-inclusive",
        "A reader that begins with the latest message, of a topic without messages, asks for more",
        ("seek.has-message-available-before-read",),
    )


def has_message_available_in_batch() -> Case:
    plan = Schedule(stored=[batch(range(5))])
    reader = _reader(plan)
    _reads(plan, reader, 3)
    _reads(plan, reader, 2)
    _seeks(plan, reader, delivery=4)
    _reads(plan, reader, 1)
    return plan.case(
        "seek/has-message-available-in-batch",
        "A reader reads a batch of five in two parts, and the last message again",
        ("seek.has-message-available-after-read", "seek.has-message-available-before-read"),
        capabilities=("batching",),
        assumes=("batch_index",),
        consumer=EARLIEST,
    )


HELD_UP_MS = 400
"""The time in which a faulty client ends a seek too early, or accepts a second one."""


CASES = (
    backward_to_message_id(),
    backward_over_acknowledged(),
    into_batch(),
    backward_inclusive(),
    into_batch_inclusive(),
    to_timestamp(),
    forward(),
    forward_on_partitions(),
    full_queues_of_partitions(),
    response_before_resubscribe(),
    response_after_resubscribe(),
    cut_after_response(),
    concurrent_seeks(),
    has_message_available(),
    time_after_last_message(),
    time_after_last_message_inclusive(),
    has_message_available_at_end(),
    grows_behind_latest(),
    grows_behind_time(),
    has_message_available_from_latest(),
    empty_topic(),
    empty_topic_inclusive(),
    has_message_available_in_batch(),
)
