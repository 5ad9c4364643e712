"""Reconnecting: a producer closed by its broker, refused, cut off repeatedly, or closed while it is disconnected."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, down, up
from assay_conformance.model.case import Case, Limits, Topic, Topology
from assay_conformance.model.fault import AfterStep, AnswerError, Cut, Direction, Fault, Hold, Refuse, Until
from assay_conformance.pulsar.cases.resend.connections import QUICK, cut_at_send, lost_before_cut, lost_receipts

CLOSES_NOTICED_MS = 700
RETURN_NOTICED_MS = 6_000  # some clients try again every five seconds
"""Time that shows that no CLOSE_PRODUCER is sent, and that the producer does not register again after its backoff."""


def closed_by_broker() -> Case:
    """Unload the topic when two sends have lost their receipts; a producer of another topic is not affected."""
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    other = plan.producer(client, "u")
    plan.wait_ops(plan.send(producer))
    plan.send(producer, 2)
    plan.wait_receipts(3)
    plan.broker("unload", topic="t")
    plan.wait_ops()
    plan.wait_ops(plan.send(other, 2), plan.send(producer, 2))
    return plan.case(
        "resend/closed-by-broker",
        "The broker closes a producer with two pending sends, and keeps the connection",
        ("resend.reconnects-after-close-producer", "resend.pending-sends-resent"),
        topology=Topology(topics=(Topic(name="t"), Topic(name="u"))),
        faults=(lost_receipts(2, k=2),),
        limits=QUICK,
    )


def producer_epochs() -> Case:
    plan, producer = Schedule.with_producer()
    for _ in range(3):
        plan.wait_ops(plan.send(producer))
    return plan.case(
        "resend/producer-epochs",
        "A producer registers three times, each time with a greater epoch",
        ("resend.producer-epoch-increases",),
        faults=(cut_at_send(2), cut_at_send(4)),
        limits=QUICK,
    )


def closed_while_disconnected() -> Case:
    plan, producer = Schedule.with_producer()
    opened = plan.last
    plan.send(producer, 2)
    plan.wait_fired(2)
    plan.wait_ops(plan.close(producer))
    plan.heal(2)
    plan.wait_ms(RETURN_NOTICED_MS)
    return plan.case(
        "resend/closed-while-disconnected",
        "A producer is closed while no connection can be made, and does not register again when one can",
        ("resend.closed-stays-closed",),
        faults=(
            lost_before_cut(2),
            cut_at_send(2),
            Fault(trigger=AfterStep(opened), action=Refuse()),
        ),
        limits=QUICK,
    )


def closed_while_registering() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.send(producer)
    plan.wait_fired(1)
    plan.close(producer)
    plan.wait_ms(100)  # for the client to have begun
    asked = plan.last
    plan.wait_ops()
    plan.wait_ms(CLOSES_NOTICED_MS)
    return plan.case(
        "resend/closed-while-registering",
        "A producer is closed while its PRODUCER is pending, and then admitted",
        ("resend.closed-stays-closed",),
        faults=(
            cut_at_send(2),
            Fault(trigger=down("PRODUCER_SUCCESS", k=2), action=Hold(overtake=True), until=Until(step=asked)),
        ),
        limits=QUICK,
    )


def reconnect_rejected_repeatedly() -> Case:
    """Refuse three attempts, and not the fourth; then the connection dies once more."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.send(producer))
    cut = plan.last
    plan.send(producer)  # a client may reconnect only when it is used
    plan.wait_frame("PRODUCER_SUCCESS", Direction.TO_CLIENT, 3)
    plan.wait_ops()
    return plan.case(
        "resend/reconnect-rejected-repeatedly",
        "The broker is not ready for a producer three times, and the backoff grows; after a success it is short again",
        ("resend.reconnect-backoff",),
        faults=(
            cut_at_send(2),
            Fault(trigger=up("PRODUCER", k=2, times=3), action=AnswerError("ServiceNotReady")),
            Fault(trigger=AfterStep(cut), action=Cut()),
        ),
        limits=Limits(operation_ms=12_000, case_ms=25_000, least_wall_ms=1_600),
    )
