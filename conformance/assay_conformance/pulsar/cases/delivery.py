"""Cases for delivery from end to end: what one application sends, another gets, with and without trouble in between."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, Schedule, down
from assay_conformance.model.case import Case
from assay_conformance.model.fault import AfterStep, Cut, Fault

AWAY_MS = 200
"""Clients come back after 100 ms or a little more."""

QUIET_MS = 400
"""How long a consumer waits for what should not come."""

STALL_MS = 1_000
"""Silence that makes a stall, after an outage."""

WATCHED_MS = STALL_MS + 4 * AWAY_MS
"""For how long nothing else may happen after an outage, for it to be looked at: a client that was away has as long in
addition, and a machine that stands still keeps it away for up to 250 ms before the Case does not count."""

OPENING_MS = 1_000
"""How long the opening of a consumer may take."""

NEAR_MS = 100
"""The shortest wait before a client comes back: what ends that early in it ends all of it."""

ROOM = 2


def no_faults() -> Case:
    """Nothing goes wrong, and everything is acknowledged: what comes again comes for no reason."""
    plan = Schedule()
    client = plan.client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.send(producer, 6)
    plan.wait_ops(plan.receive(consumer, 6))
    plan.wait_ops(plan.ack(consumer))
    plan.receive(consumer, 1, timeout_ms=QUIET_MS)
    plan.wait_ops()
    return plan.case(
        "delivery/no-faults",
        "Six messages are sent, delivered and acknowledged; then nothing more comes",
        (
            "delivery.successful-send-is-delivered",
            "delivery.no-phantom-messages",
            "delivery.successful-send-is-stored",
            "delivery.payload-unchanged",
            "delivery.no-unexplained-duplicates",
        ),
        consumer=EARLIEST,
    )


def outage_while_sending() -> Case:
    """Sends go on while there is no connection; what is pending then is sent again."""
    plan = Schedule()
    client = plan.client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.send(producer, 6)
    plan.wait_fired(0)
    plan.send(producer, 6)
    plan.wait_ops()
    plan.receive(consumer, 40, timeout_ms=2 * QUIET_MS)
    plan.wait_ops()
    plan.wait_ops(plan.ack(consumer))
    return plan.case(
        "delivery/outage-while-sending",
        "Six messages are on their way when the connection breaks, and six more are sent before there is another one",
        (
            "delivery.successful-send-is-delivered",
            "delivery.no-phantom-messages",
            "delivery.successful-send-is-stored",
            "delivery.payload-unchanged",
            "delivery.statistics-per-fault",
        ),
        capabilities=("resend_pending",),
        consumer=EARLIEST,
        faults=(Fault(trigger=down("SEND_RECEIPT", k=2), action=Cut()),),
    )


def sends_after_outage() -> Case:
    """The application asks for messages all the time; new ones are taken in as soon as its client is back."""
    plan = Schedule()
    client = plan.client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.send(producer)
    plan.receive(consumer, 4, timeout_ms=3 * STALL_MS)
    plan.wait_fired(0)
    plan.send(producer, 3)
    plan.wait_ms(WATCHED_MS)
    plan.wait_ops()
    plan.wait_ops(plan.ack(consumer))
    return plan.case(
        "delivery/sends-after-outage",
        "Three messages are sent when an outage is over, to a consumer that waits for them",
        ("delivery.resumes-after-fault",),
        capabilities=("resend_pending",),
        consumer=EARLIEST,
        faults=(Fault(trigger=down("SEND_RECEIPT"), action=Cut()),),
    )


def disconnected_near_operation_timeout() -> Case:
    """Three consumers were opened one after the other, about as long ago as opening one may take. Whatever still runs
    of that must not end their way back; the producer was opened long before."""
    plan = Schedule()
    client = plan.client(operation_timeout_ms=OPENING_MS)
    producer = plan.producer(client)
    plan.wait_ops(plan.send(producer))
    plan.wait_ms(2 * NEAR_MS)
    consumers = []
    for subscription in ("a", "b", "c"):
        consumers.append(plan.consumer(client, subscription=subscription))
        plan.wait_ms(NEAR_MS // 4)
    for consumer in consumers:
        plan.receive(consumer, 4, timeout_ms=5 * STALL_MS)
    plan.wait_ms(OPENING_MS - NEAR_MS - NEAR_MS // 4)
    near = plan.last
    plan.wait_fired(0)
    plan.wait_ms(AWAY_MS)
    plan.send(producer, 3)
    plan.wait_ms(WATCHED_MS)
    plan.wait_ops()
    plan.wait_ops(*(plan.ack(consumer) for consumer in consumers))
    return plan.case(
        "delivery/disconnected-near-operation-timeout",
        "The connection is lost when the time that opening a consumer may take is almost over",
        ("delivery.resumes-after-fault",),
        capabilities=("resend_pending",),
        consumer=EARLIEST,
        faults=(Fault(trigger=AfterStep(near), action=Cut()),),
    )


def rejected_send_not_stored() -> Case:
    """With room for two, of five messages three are refused before anything of them is sent."""
    plan = Schedule()
    client = plan.client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    with plan.held():
        plan.send(producer, ROOM + 3)
        plan.wait_sends(ROOM)
        plan.wait_ms(AWAY_MS // 2)
    plan.wait_ops()
    plan.receive(consumer, ROOM + 3, timeout_ms=QUIET_MS)
    plan.wait_ops()
    plan.wait_ops(plan.ack(consumer))
    return plan.case(
        "delivery/rejected-send-not-stored",
        "Five messages are sent by a producer with room for two, and the store is slow",
        ("delivery.failed-send-is-not-stored",),
        consumer=EARLIEST,
        producer={"max_pending_messages": ROOM, "block_if_queue_full": False},
    )


CASES = (
    no_faults(),
    outage_while_sending(),
    sends_after_outage(),
    disconnected_near_operation_timeout(),
    rejected_send_not_stored(),
)
