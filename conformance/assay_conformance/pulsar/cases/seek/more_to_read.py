"""Cases in which readers are asked for more, and read on: around seeks, at the end of a topic, and of an empty one."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule
from assay_conformance.cases.stored import batch
from assay_conformance.model.case import Case
from assay_conformance.pulsar.cases.seek.targets import FIRST_MS, STEP_MS, timed


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
