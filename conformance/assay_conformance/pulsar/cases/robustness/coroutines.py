"""The coroutine interface of clients that have one besides the blocking one: the same calls with the same outcomes. A
receive that takes too long is cancelled, as by `asyncio.wait_for`; messages that arrive after that are for the next
receive.
"""

from __future__ import annotations

from typing import Any

from assay_conformance.cases.build import ACKS_FLUSHED_MS, EARLIEST, STARVED_MS, Schedule
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case
from assay_conformance.pulsar.cases.listener.handlers import NACK_DELAY_MS
from assay_conformance.pulsar.cases.seek.targets import FIRST_MS, STEP_MS, timed

_OUTCOMES = ("robustness.failure-needs-cause", "robustness.calls-do-not-hang")


def _case(plan: Schedule, words: str, title: str, requirements: tuple[str, ...], *needs: str, **fields: Any) -> Case:
    return plan.case(
        f"robustness/coroutines-{words}",
        title,
        requirements,
        capabilities=("coroutines", *needs),
        client={"interface": "coroutines"},
        **fields,
    )


def all_calls() -> Case:
    plan, client = Schedule.with_client()
    producer, consumer = plan.producer(client), plan.consumer(client)
    plan.send(producer, 6)
    plan.send(producer, 2, mode="sync")
    plan.wait_ops(plan.flush(producer))
    plan.wait_ops(plan.receive(consumer, 8, STARVED_MS))
    plan.wait_ops(plan.ack(consumer, messages=(1, 2)))
    plan.wait_ops(plan.nack(consumer, messages=(3,)))
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.wait_ms(ACKS_FLUSHED_MS)
    plan.wait_ops(plan.seek(consumer, delivery=4))
    plan.wait_ops(plan.receive(consumer, 4, STARVED_MS))
    plan.wait_ops(plan.agent("unsubscribe", {"consumer": consumer}))
    for handle in (consumer, producer, client):
        plan.wait_ops(plan.close(handle))
    return _case(
        plan,
        "all-calls",
        "Coroutines send, flush, receive, acknowledge, nack, seek, unsubscribe and close",
        (*_OUTCOMES, "seek.starts-at-target", "ordering.keeps-send-order"),
        *("producer", "consumer", "sync_send", "nack_delay", "seek", "unsubscribe"),
        consumer={**EARLIEST, "subscription_type": "shared", "nack_delay_ms": NACK_DELAY_MS},
    )


def reader() -> Case:
    plan, reading = Schedule.with_consumer(durable=False, stored=[timed(number) for number in range(5)])
    plan.wait_ops(plan.receive(reading, 5, STARVED_MS))
    plan.wait_ops(plan.has_message_available(reading))
    plan.wait_ops(plan.seek(reading, publish_time_ms=FIRST_MS + 3 * STEP_MS))
    plan.wait_ops(plan.has_message_available(reading))
    plan.wait_ops(plan.receive(reading, 2, STARVED_MS))
    plan.wait_ops(plan.close(reading))
    return _case(
        plan,
        "reader",
        "Coroutines read five messages, call has_message_available, seek back by time, read two again and close",
        (*_OUTCOMES, "seek.has-message-available-after-read", "seek.starts-at-target"),
        *("reader", "has_message_available", "seek"),
        consumer=EARLIEST,
    )


def cancelled_receive() -> Case:
    """Call receive three times while nothing arrives; then as many messages are sent."""
    plan, consumer = Schedule.with_consumer()
    for _ in range(3):
        plan.wait_ops(plan.receive(consumer, 1, 200))
    plan.broker("store_entries", topic="t", entries=plains(range(4)))
    plan.wait_ops(plan.receive(consumer, 4, STARVED_MS))
    plan.wait_ops(plan.ack(consumer))
    plan.wait_ops(plan.close(consumer))
    return _case(
        plan,
        "cancelled-receive",
        "Three receives of a coroutine are cancelled before four messages arrive",
        ("delivery.reaches-waiting-receive", "robustness.calls-do-not-hang"),
        "consumer",
        consumer=EARLIEST,
    )
