"""Readers whose messages go to a handler: they have no durable subscription, and know themselves how far they are."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down
from assay_conformance.cases.stored import batch, plains
from assay_conformance.model.agent import HandlerAct
from assay_conformance.model.case import Case
from assay_conformance.model.fault import Cut, Fault
from assay_conformance.pulsar.cases.listener.handlers import LATE_MS, LISTENS
from assay_conformance.pulsar.cases.seek import FIRST_MS, STEP_MS, timed

READS = (*LISTENS, "reader")


def reader_returns() -> Case:
    """Reconnect a reader: what its handler was called with is read, whether or not that call has returned."""
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
        "A reader's handler is called with the sixth of ten messages when its topic is unloaded, and closes the reader "
        "at the last one",
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
    """Ask a reader for more several times on its way, once it has sought, and behind the end."""
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
        "A reader with a handler asks for more between six messages, behind them, and when it has sought the fourth "
        "by its time",
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
        "A reader with a handler begins behind three messages, and loses its connection with the third of those that "
        "are sent then",
        (
            "listener.one-call-at-a-time",
            "flow.waiting-receive-has-permits",
            "ordering.delivers-in-message-id-order",
            "robustness.calls-do-not-hang",
        ),
        capabilities=("producer", *READS),
        faults=(Fault(trigger=down("MESSAGE", k=3), action=Cut()),),
    )
