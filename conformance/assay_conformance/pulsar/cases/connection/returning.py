"""Cases for producers and consumers that come back: how often, and on which connection."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, up
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.fault import Cut, Fault

AGAIN_MS = 700
"""Time in which a client that comes back twice has done so."""

PATIENT = Limits(operation_ms=12_000, case_ms=40_000)
"""Some clients pause for seconds before they come back."""

_COMES_BACK = ("producer", "consumer", "resend_pending")


def lost_with_sends() -> Case:
    """Lose the connection at a SEND: the client learns it from the connection, and from each send that fails."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.send(producer, 3))
    plan.wait_ms(AGAIN_MS)
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.receive(consumer, 5, STARVED_MS))
    return plan.case(
        "connection/lost-with-sends",
        "The connection of a producer and a consumer is lost with sends in flight; they come back once",
        ("connection.registers-once",),
        capabilities=_COMES_BACK,
        consumer=EARLIEST,
        faults=(Fault(trigger=up("SEND", k=2), action=Cut()),),
        limits=PATIENT,
    )


def closed_and_lost() -> Case:
    """Close what is registered, and lose the connection when it registers again."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer))
    plan.broker("unload", topic="t")
    plan.wait_ops(plan.send(producer, 3))
    plan.wait_ms(AGAIN_MS)
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.receive(consumer, 5, STARVED_MS))
    return plan.case(
        "connection/closed-and-lost",
        "The broker closes a producer and a consumer, and their connection is lost while they come back",
        ("connection.registers-once",),
        capabilities=_COMES_BACK,
        consumer=EARLIEST,
        faults=(Fault(trigger=up("PRODUCER", k=2), action=Cut(before=True)),),
        limits=PATIENT,
    )


def closed_twice() -> Case:
    """Unload the topic, and again once its producer and consumer are back; the connection stays."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer))
    for _ in range(2):
        plan.broker("unload", topic="t")
        plan.wait_ops(plan.send(producer, 2))
        plan.wait_ms(AGAIN_MS)
    plan.wait_ops(plan.receive(consumer, 5, STARVED_MS))
    return plan.case(
        "connection/closed-twice",
        "The broker closes a producer and a consumer twice, and keeps their connection",
        ("connection.registers-once", "connection.returns-on-its-connection"),
        capabilities=_COMES_BACK,
        consumer=EARLIEST,
        limits=PATIENT,
    )


CASES = (lost_with_sends(), closed_and_lost(), closed_twice())
