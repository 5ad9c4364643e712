"""Cases in which consumers are asked for the last message of their topic."""

from __future__ import annotations

from typing import Any

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down
from assay_conformance.cases.stored import batch, plain, plains
from assay_conformance.model.case import Case
from assay_conformance.model.fault import Cut, Fault
from assay_conformance.pulsar.cases.seek.targets import RETURNED_MS

LAST = "seek.last-message-id-as-answered"


def _last(words: str, title: str, stored: list[dict[str, Any]], *, then: int = 0) -> Case:
    """Ask for the last message, before any is received and after all are; `then` more are stored in between."""
    plan, consumer = Schedule.with_consumer(stored=stored)
    plan.wait_ops(plan.last_message_id(consumer))
    if then:
        plan.broker("store_entries", topic="t", entries=plains(range(100, 100 + then)))
        plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
        plan.wait_ops(plan.last_message_id(consumer))
    return plan.case(f"seek/{words}", title, (LAST,), consumer=EARLIEST)


def last_message_id() -> Case:
    title = "The consumer is asked for the last message of its topic, and again after more are stored"
    return _last("last-message-id", title, plains(range(3)), then=2)


def last_message_id_in_batch() -> Case:
    title = "The consumer is asked for the last message of its topic, which is the third of a batch"
    return _last("last-message-id-in-batch", title, [plain(0), batch(range(1, 4))])


def last_message_id_of_empty_topic() -> Case:
    title = "The consumer is asked for the last message of a topic that has none"
    return _last("last-message-id-of-empty-topic", title, [])


def last_message_id_after_return() -> Case:
    """Ask where the connection was lost: a client may fail the call, or wait until it has returned."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(3)))
    plan.wait_ops(plan.last_message_id(consumer))
    plan.wait_fired(0)
    plan.wait_ops(plan.receive(consumer, 3, RETURNED_MS))
    plan.wait_ops(plan.last_message_id(consumer))
    return plan.case(
        "seek/last-message-id-after-return",
        "The consumer is asked for the last message of its topic; its connection is lost, and it is asked again",
        (LAST,),
        consumer=EARLIEST,
        faults=(Fault(trigger=down("GET_LAST_MESSAGE_ID_RESPONSE"), action=Cut()),),
    )
