"""Cases for acknowledgments that wait for the broker's answer: a success, an error, or none."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down, up
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Config, Limits, Topology
from assay_conformance.model.fault import Cut, Direction, Duplicate, Fault, FieldValue, Hold, Rewrite, Until

AWAITED: Config = {**EARLIEST, "ack_receipt": True}

HELD_UP_MS = 250
"""Longer than the acknowledgment group interval."""
ANSWERED_MS = 2_000
"""The time in which a broker certainly answers a request."""


def _held_up(plan: Schedule) -> Fault:
    """Hold the first answer long enough to see whether the client waits for it."""
    plan.wait_fired(0, deadline_ms=ANSWERED_MS)
    plan.wait_ms(HELD_UP_MS)
    return Fault(trigger=down("ACK_RESPONSE"), action=Hold(), until=Until(step=plan.last))


def _three_acks(words: str, title: str, requirements: tuple[str, ...], *faults: Fault, held_up: bool = False) -> Case:
    """Acknowledge the last of three messages separately, after what happens to the first two."""
    plan, consumer = Schedule.with_consumer_of(plains(range(3)), receives=3)
    plan.ack(consumer, numbers=[0, 1])
    if held_up:
        faults = (_held_up(plan),)
    plan.wait_ops()
    plan.receive(consumer, 1, timeout_ms=200)
    plan.wait_ops()
    plan.wait_ops(plan.ack(consumer, numbers=[2]))
    return plan.case(
        f"ack/{words}", title, requirements, capabilities=("ack_receipt",), consumer=AWAITED, faults=faults
    )


def response_late() -> Case:
    return _three_acks(
        "response-late",
        "The broker's answer to two acknowledgments is delayed",
        ("ack.call-waits-for-response",),
        held_up=True,
    )


def refused(words: str, title: str, text: str) -> Case:
    fields: dict[str, FieldValue] = {"error": "MetadataError", "message": text}
    return _three_acks(
        words,
        title,
        ("ack.error-response-is-no-success", "ack.call-waits-for-response"),
        Fault(trigger=down("ACK_RESPONSE"), action=Rewrite(fields)),
    )


def response_lost() -> Case:
    """Drop the answers: the broker has the acknowledgments, but the client cannot know that and must not report it."""
    plan, consumer = Schedule.with_consumer_of(plains(range(3)), receives=3)
    plan.wait_ops(plan.ack(consumer, numbers=[0, 1]))
    plan.receive(consumer, 1, STARVED_MS)
    plan.wait_ops()
    plan.wait_ops(plan.ack(consumer, messages=[4]))
    return plan.case(
        "ack/response-lost",
        "The connection is lost just before the broker's answer to two acknowledgments",
        ("ack.error-response-is-no-success",),
        capabilities=("ack_receipt",),
        consumer=AWAITED,
        faults=(Fault(trigger=down("ACK_RESPONSE"), action=Cut(before=True)),),
    )


def covered_by_pending_cumulative() -> Case:
    """Acknowledge twice in one flush, and then something that the broker already has and has not answered."""
    plan, consumer = Schedule.with_consumer_of(plains(range(4)), receives=4)
    plan.ack(consumer, numbers=[1], cumulative=True)
    plan.ack(consumer, numbers=[2], cumulative=True)
    plan.wait_frame("ACK", Direction.TO_BROKER)
    plan.ack(consumer, numbers=[0], cumulative=True)
    plan.ack(consumer, numbers=[2], cumulative=True)
    held_up = _held_up(plan)
    plan.wait_ops()
    plan.wait_ops(plan.ack(consumer, numbers=[3]))
    return plan.case(
        "ack/covered-by-pending-cumulative",
        "Two cumulative acks are sent together and answered late; meanwhile a message that they cover is acknowledged",
        ("ack.call-waits-for-response",),
        capabilities=("ack_receipt", "cumulative_ack"),
        consumer=AWAITED,
        faults=(held_up,),
        limits=Limits(operation_ms=6_000),
    )


def acked_twice() -> Case:
    """Repeat the first ACK, as a client does that did not get its answer."""
    return _three_acks(
        "acked-twice",
        "Two of three messages are acknowledged twice, by the same command",
        ("ack.repeated-ack-accepted",),
        Fault(trigger=up("ACK"), action=Duplicate()),
    )


def receipts_from_an_old_broker() -> Case:
    plan, consumer = Schedule.with_consumer(stored=plains(range(3)))
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.wait_ops(plan.ack(consumer))
    return plan.case(
        "connection/no-ack-responses",
        "Acknowledgments that wait for an answer, on a broker of protocol version 16, which sends none",
        ("connection.negotiated-version", "ack.no-response-from-old-broker"),
        capabilities=("consumer", "ack_receipt"),
        consumer={**EARLIEST, "ack_receipt": True},
        topology=Topology(protocol_version=16),
    )


CASES = (
    acked_twice(),
    covered_by_pending_cumulative(),
    response_late(),
    refused("response-with-error", "The broker refuses two acknowledgments", "refused"),
    refused(
        "response-with-error-without-message",
        "The broker refuses two acknowledgments with an error without a message",
        "",
    ),
    response_lost(),
    receipts_from_an_old_broker(),
)
