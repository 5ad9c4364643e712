"""Readers with a handler: they have no durable subscription, and keep their position themselves."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down
from assay_conformance.cases.stored import batch, plains
from assay_conformance.model.agent import HandlerAct
from assay_conformance.model.case import Case
from assay_conformance.model.fault import Cut, Fault
from assay_conformance.pulsar.cases.listener.handlers import LATE_MS, LISTENS
from assay_conformance.pulsar.cases.seek.targets import FIRST_MS, STEP_MS, timed

READS = (*LISTENS, "reader")


def reader_returns() -> Case:
    """Reconnect a reader: a message with which its handler was called counts as read, whether or not the call has
    returned."""
    plan, reader = Schedule.with_consumer(
        listener=True, durable=False, stored=[*plains(range(4)), batch(range(4, 8)), *plains(range(8, 10))]
    )
    plan.wait_ops(plan.receive(reader, 5, STARVED_MS))
    plan.receive(reader, 1, STARVED_MS, does=HandlerAct.WAIT)
    plan.wait_received(reader, 6)
    plan.wait_ms(LATE_MS)
    plan.broker("unload", topic="t")
    plan.wait_ms(LATE_MS)
    plan.wait_ops(plan.let_return(reader, 6))
    plan.wait_ops(plan.receive(reader, 3, 2 * STARVED_MS))
    plan.receive(reader, 1, 2 * STARVED_MS, does=HandlerAct.WAIT)
    plan.wait_received(reader, 10)
    plan.wait_ops(plan.close(reader, inside=10))
    plan.wait_ops(plan.let_return(reader, 10))
    plan.wait_ms(LATE_MS)
    return plan.case(
        "listener/reader-returns",
        "A reader's topic is unloaded while its handler processes the sixth of ten messages; at the last one it "
        "closes the reader",
        (
            "subscription.reader-resumes-after-last-read",
            "listener.one-call-at-a-time",
            "listener.calls-inside-succeed",
            "listener.none-after-close",
            "ordering.delivers-in-message-id-order",
        ),
        capabilities=READS,
        consumer=EARLIEST,
    )


def reader_asks_for_more() -> Case:
    """Call has_message_available several times on the way, after a seek, and at the end."""
    plan, reader = Schedule.with_consumer(listener=True, durable=False, stored=[timed(number) for number in range(6)])
    for _ in range(2):
        plan.wait_ops(plan.receive(reader, 1, STARVED_MS))
        plan.wait_ops(plan.has_message_available(reader))
    plan.wait_ops(plan.receive(reader, 4, STARVED_MS))
    plan.wait_ops(plan.has_message_available(reader))
    plan.wait_ops(plan.seek(reader, publish_time_ms=FIRST_MS + 3 * STEP_MS))
    plan.wait_ops(plan.receive(reader, 3, STARVED_MS))
    plan.wait_ops(plan.has_message_available(reader))
    return plan.case(
        "listener/reader-asks-for-more",
        "A reader with a handler calls has_message_available among six messages, after them, and after a seek to the "
        "fourth by time",
        (
            "listener.one-call-at-a-time",
            "seek.has-message-available-after-read",
            "seek.starts-at-target",
            "robustness.calls-do-not-hang",
        ),
        capabilities=(*READS, "has_message_available", "seek"),
        consumer=EARLIEST,
    )


def reader_from_latest() -> Case:
    plan, client = Schedule.with_client()
    plan.broker("store_entries", topic="t", entries=plains(range(3)))
    reader = plan.consumer(client, listener=True, durable=False, initial_position="latest")
    producer = plan.producer(client)
    plan.wait_ops(plan.receive(reader, 1, LATE_MS))
    plan.wait_ops(plan.send(producer, 4))
    plan.wait_ops(plan.receive(reader, 5, STARVED_MS))
    plan.wait_ops(plan.send(producer, 2))
    plan.wait_ops(plan.receive(reader, 2, STARVED_MS))
    return plan.case(
        "listener/reader-from-latest",
        "A reader with a handler starts after three messages, and loses its connection at the third of those sent "
        "afterwards",
        (
            "listener.one-call-at-a-time",
            "flow.waiting-receive-has-permits",
            "ordering.delivers-in-message-id-order",
            "robustness.calls-do-not-hang",
        ),
        capabilities=("producer", *READS),
        faults=(Fault(trigger=down("MESSAGE", k=3), action=Cut()),),
    )
