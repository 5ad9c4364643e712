"""Cases for permits of consumers whose application is slow: with receives, and with a handler."""

from __future__ import annotations

from typing import Final

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule
from assay_conformance.cases.stored import plains
from assay_conformance.model.agent import HandlerAct
from assay_conformance.model.case import Case, Config

COUNT: Final = 60
QUEUE_OF_TEN: Final[Config] = {**EARLIEST, "receiver_queue_size": 10}
BUSY_MS: Final = 900
"""How long the application is busy: longer than any answer takes."""


def slow_application() -> Case:
    """Receive one message, and the others much later: a client that grants permits for arrived messages has all of them
    by then."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(COUNT)))
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.wait_ms(BUSY_MS)
    plan.wait_ops(plan.receive(consumer, COUNT - 1, 2 * STARVED_MS))
    return plan.case(
        "flow/slow-application",
        f"An application receives one of {COUNT} messages, is busy, and receives the others; the queue holds ten",
        ("flow.permits-follow-deliveries", "flow.permits-within-queue"),
        consumer=QUEUE_OF_TEN,
    )


def slow_handler() -> Case:
    """Let the first call of a reader's handler wait; only the client queues messages for it."""
    plan, reader = Schedule.with_consumer(listener=True, durable=False, stored=plains(range(COUNT)))
    plan.receive(reader, 1, does=HandlerAct.WAIT, wait=True)
    plan.wait_ms(BUSY_MS)
    plan.wait_ops(plan.let_return(reader, 1))
    plan.wait_ops(plan.receive(reader, COUNT - 1, 2 * STARVED_MS))
    return plan.case(
        "flow/slow-handler",
        f"A reader's handler is called with one of {COUNT} messages, is busy, and returns; the queue holds ten",
        ("flow.permits-follow-deliveries", "flow.permits-within-queue"),
        capabilities=("message_listener", "reader"),
        consumer=QUEUE_OF_TEN,
    )
