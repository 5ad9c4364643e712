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
"""An application is busy for so long: longer than any answer takes."""


def slow_application() -> Case:
    """Take one message, and the others when a client that grants permits for what comes has long got all of them."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(COUNT)))
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.wait_ms(BUSY_MS)
    plan.wait_ops(plan.receive(consumer, COUNT - 1, 2 * STARVED_MS))
    return plan.case(
        "flow/slow-application",
        f"An application takes one of {COUNT} messages, is busy, and takes the others; the queue holds ten",
        ("flow.permits-follow-deliveries", "flow.permits-within-queue"),
        consumer=QUEUE_OF_TEN,
    )


def slow_handler() -> Case:
    """Have the first call of a reader's handler wait, which has no other queue than its client's."""
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
