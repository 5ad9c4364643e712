"""Cases for delivery from end to end: what one application sends, another receives, with and without faults."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down
from assay_conformance.cases.stored import batch, plains
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault

AWAY_MS = 200
"""Clients reconnect after 100 ms or a little more."""

QUIET_MS = 400
"""How long a consumer waits for a message that must not arrive."""

STALL_MS = 1_000
"""Time without a delivery after an outage that counts as a stall."""

WATCHED_MS = STALL_MS + 4 * AWAY_MS
"""How long nothing else may happen after an outage, so that it can be judged: a client has this time beyond its
reconnect, and a pause of the machine may add up to 250 ms before the Case no longer counts."""

OPENING_MS = 1_000
"""How long opening a consumer may take."""

NEAR_MS = 100
"""The shortest wait before a client reconnects."""

ROOM = 2


def no_faults() -> Case:
    """Send without faults, and acknowledge everything: there is no reason for a redelivery."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.send(producer, 6)
    plan.wait_ops(plan.receive(consumer, 6))
    plan.wait_ops(plan.ack(consumer))
    plan.receive(consumer, 1, timeout_ms=QUIET_MS)
    plan.wait_ops()
    return plan.case(
        "delivery/no-faults",
        "Six messages are sent, received and acknowledged; then no more arrive",
        (
            "delivery.successful-send-is-delivered",
            "delivery.no-phantom-messages",
            "delivery.successful-send-is-stored",
            "delivery.payload-unchanged",
            "delivery.no-unexplained-duplicates",
        ),
        consumer=EARLIEST,
    )


def several_topics_in_bursts() -> Case:
    """Fill the queue that two topics share, and empty it at once, twice; what comes then finds room."""
    plan = Schedule()
    consumer = plan.consumer(plan.client(), ("t", "u"))
    for burst in range(3):
        first = plan.receive(consumer, 1, STARVED_MS)
        for number, topic in enumerate(("t", "u")):
            start = 10 * burst + 5 * number
            plan.broker("store_entries", topic=topic, entries=[batch(range(start, start + 5))])
        plan.wait_ops(first)
        plan.wait_ops(plan.receive(consumer, 9, STARVED_MS))
        plan.wait_ops(plan.ack(consumer))
        plan.wait_ms(QUIET_MS)
    return plan.case(
        "delivery/several-topics-in-bursts",
        "A consumer of two topics, with a queue of four, receives at once what fills it, three times",
        ("delivery.reaches-waiting-receive",),
        topology=Topology(topics=(Topic(name="t"), Topic(name="u"))),
        consumer={**EARLIEST, "receiver_queue_size": 4},
    )


def outage_while_sending() -> Case:
    """Send while there is no connection; pending sends are sent again."""
    plan, client = Schedule.with_client()
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
        "Six messages are being sent when the connection is lost, and six more before the client has reconnected",
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
    """Keep a receive pending; new messages are sent as soon as its client has reconnected. Producer and consumer may
    have separate connections: all of them are cut.
    """
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    send = plan.send(producer)
    plan.receive(consumer, 4, timeout_ms=3 * STALL_MS)
    plan.wait_ops(send)
    sent = plan.last
    plan.wait_fired(0)
    plan.wait_ms(AWAY_MS)
    plan.send(producer, 3)
    plan.wait_ms(WATCHED_MS)
    plan.wait_ops()
    plan.wait_ops(plan.ack(consumer))
    return plan.case(
        "delivery/sends-after-outage",
        "Three messages are sent after an outage, to a consumer that waits for them",
        ("delivery.resumes-after-fault",),
        capabilities=("resend_pending",),
        consumer=EARLIEST,
        faults=(Fault(trigger=AfterStep(sent), action=Cut()),),
    )


def disconnected_near_operation_timeout() -> Case:
    """End the connection about one operation time-out after three consumers were opened, one after the other.

    A timer that is left from opening them must not end their reconnect; the producer was opened long before.
    """
    plan, client = Schedule.with_client(operation_timeout_ms=OPENING_MS)
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
        "The connection is lost just before the time-out of opening a consumer would end",
        ("delivery.resumes-after-fault",),
        capabilities=("resend_pending",),
        consumer=EARLIEST,
        faults=(Fault(trigger=AfterStep(near), action=Cut()),),
    )


def rejected_send_not_stored() -> Case:
    """Send five messages with room for two: three fail before anything of them is sent."""
    plan, client = Schedule.with_client()
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
        "Five messages are sent through a pending queue of two, and the store is slow",
        ("delivery.failed-send-is-not-stored",),
        consumer=EARLIEST,
        producer={"max_pending_messages": ROOM, "block_if_queue_full": False},
    )


def beside_an_unread_consumer() -> Case:
    """Receive while another consumer of the client has a backlog larger than its queue, and is not received from."""
    plan = Schedule()
    for topic, count in (("unread", 200), ("read", 30)):
        plan.broker("store_entries", topic=f"{topic}-partition-0", entries=plains(range(count)))
    client = plan.client()
    plan.consumer(client, "unread", receiver_queue_size=3)
    consumer = plan.consumer(client, "read")
    plan.wait_ops(plan.receive(consumer, 30, STALL_MS + WATCHED_MS))
    return plan.case(
        "delivery/beside-an-unread-consumer",
        "A consumer of partitions receives thirty messages while another consumer of its client is not received from",
        ("delivery.reaches-waiting-receive",),
        capabilities=("consumer", "partitioned_topics"),
        topology=Topology(topics=tuple(Topic(name=name, partitions=3) for name in ("unread", "read"))),
        consumer=EARLIEST,
    )


def receive_across_reconnect() -> Case:
    """Reconnect while a receive waits; no second message follows that could push the first one out of the queue."""
    plan, consumer = Schedule.with_consumer()
    plan.receive(consumer, 2, WATCHED_MS)
    asked = plan.last
    plan.wait_frame("SUCCESS", Direction.TO_CLIENT, 2)
    plan.broker("store_entries", topic="t", entries=plains(range(1)))
    plan.wait_ops()
    return plan.case(
        "delivery/receive-across-reconnect",
        "A receive waits while its consumer loses its connection; one message is sent after that",
        ("delivery.reaches-waiting-receive",),
        capabilities=("consumer",),
        consumer=EARLIEST,
        faults=(Fault(trigger=AfterStep(asked), action=Cut()),),
    )


CASES = (
    no_faults(),
    several_topics_in_bursts(),
    beside_an_unread_consumer(),
    receive_across_reconnect(),
    outage_while_sending(),
    sends_after_outage(),
    disconnected_near_operation_timeout(),
    rejected_send_not_stored(),
)
