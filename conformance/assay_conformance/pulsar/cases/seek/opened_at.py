"""Cases in which readers are opened at a message that was received before, as by applications that store ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay_conformance.cases.build import STARVED_MS, Schedule, down
from assay_conformance.cases.stored import batch, plains
from assay_conformance.model.case import Case
from assay_conformance.model.fault import Cut, Fault
from assay_conformance.pulsar.cases.seek.targets import RETURNED_MS

STARTS = "seek.reader-starts-at-id"


def _opened(plan: Schedule, stored: Sequence[Mapping[str, Any]], delivery: int, *, inclusive: bool = False) -> int:
    """Store entries of six messages, let a consumer receive them, and open a reader at one."""
    client = plan.client()
    plan.broker("store_entries", topic="t", entries=list(stored))
    consumer = plan.consumer(client, "t", "s", initial_position="earliest")
    plan.wait_ops(plan.receive(consumer, 6, STARVED_MS))
    return plan.consumer(client, "t", "r", start=(consumer, delivery), durable=False, start_inclusive=inclusive)


def _reads_on(
    words: str,
    title: str,
    stored: Sequence[Mapping[str, Any]],
    delivery: int,
    left: int,
    *,
    faults: tuple[Fault, ...] = (),
    inclusive: bool = False,
) -> Case:
    """Read what is left of six messages."""
    plan = Schedule()
    reader = _opened(plan, stored, delivery, inclusive=inclusive)
    plan.wait_ops(plan.receive(reader, left, RETURNED_MS))
    return plan.case(f"seek/{words}", title, (STARTS,), faults=faults, assumes=("batch_index",))


def opened_at_message() -> Case:
    return _reads_on("opened-at-message", "A reader is opened at the third of six messages", plains(range(6)), 3, 3)


def opened_at_message_inclusive() -> Case:
    return _reads_on(
        "opened-at-message-inclusive",
        "A reader that includes its start is opened at the third of six messages",
        plains(range(6)),
        3,
        4,
        inclusive=True,
    )


_BATCHES = (batch(range(4)), *plains(range(4, 6)))


def opened_inside_batch() -> Case:
    title = "A reader is opened at the second message of a batch of four"
    return _reads_on("opened-inside-batch", title, _BATCHES, 2, 4)


def opened_inside_batch_inclusive() -> Case:
    return _reads_on(
        "opened-inside-batch-inclusive",
        "A reader that includes its start is opened at the second message of a batch of four",
        _BATCHES,
        2,
        5,
        inclusive=True,
    )


def opened_at_end_of_batch() -> Case:
    title = "A reader is opened at the last message of a batch of four"
    return _reads_on("opened-at-end-of-batch", title, _BATCHES, 4, 2)


def opened_and_lost_before_read() -> Case:
    """Cut the connection at the fourth MESSAGE, the reader's first: the consumer gets three before it."""
    return _reads_on(
        "opened-and-lost-before-read",
        "A reader is opened at the second message of a batch of four, and its connection is lost before it reads",
        _BATCHES,
        2,
        4,
        faults=(Fault(trigger=down("MESSAGE", k=4), action=Cut(before=True)),),
    )


def _asks_for_more(words: str, title: str, delivery: int) -> Case:
    plan = Schedule()
    reader = _opened(plan, _BATCHES, delivery)
    plan.wait_ops(plan.has_message_available(reader))
    requirements = ("seek.has-message-available-before-read",)
    return plan.case(f"seek/{words}", title, requirements, capabilities=("start_message_id",), assumes=("batch_index",))


def opened_at_last_message() -> Case:
    title = "A reader is opened at the last message of its topic, and asked for more"
    return _asks_for_more("opened-at-last-message", title, 6)


def opened_inside_batch_asked_for_more() -> Case:
    title = "A reader is opened at the second message of a batch of four, and asked for more"
    return _asks_for_more("opened-inside-batch-asked-for-more", title, 2)
