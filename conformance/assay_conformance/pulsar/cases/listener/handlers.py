"""Cases for message listeners: handlers that return, raise, wait, acknowledge and close, and other consumers
meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.cases.build import ACKS_FLUSHED_MS, EARLIEST, STARVED_MS, Schedule, up
from assay_conformance.cases.stored import plains
from assay_conformance.model.agent import HandlerAct
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.fault import Cut, Fault

LISTENS = ("message_listener",)

LATE_MS = 400
"""Time without a call that shows that no handler call begins any more: threads that would make one have long woken
up."""

ROUNDS = 5
WAITING = 150
THREE_PARTITIONS = 3
NACK_DELAY_MS = 200


def _closed_while_handler_runs(words: str, title: str, topics: Sequence[str]) -> Case:
    """Close while a handler runs; it returns after the end of the close, and more messages wait."""
    plan, client = Schedule.with_client()
    for topic in topics:
        plan.broker("store_entries", topic=topic, entries=plains(range(10)))
    consumer = plan.consumer(client, topics, listener=True)
    plan.receive(consumer, 1, does=HandlerAct.WAIT, wait=True)
    plan.wait_ops(plan.close(consumer))
    plan.wait_ms(LATE_MS)
    plan.wait_ops(plan.let_return(consumer, 1))
    plan.wait_ms(LATE_MS)
    return plan.case(
        f"listener/{words}",
        title,
        ("listener.none-after-close", "listener.close-waits-for-no-handler", "robustness.calls-do-not-hang"),
        capabilities=LISTENS,
        consumer=EARLIEST,
        topology=Topology(topics=tuple(Topic(name=topic) for topic in topics)),
    )


def closed_while_handler_runs() -> Case:
    return _closed_while_handler_runs(
        "closed-while-handler-runs",
        "A consumer with nine more messages in its queue is closed while its handler runs, which returns after the "
        "close",
        ("t",),
    )


def closed_while_handler_of_two_topics_runs() -> Case:
    return _closed_while_handler_runs(
        "closed-while-handler-of-two-topics-runs",
        "A consumer of two topics with messages in its queues is closed while its handler runs, which returns after "
        "the close",
        ("t", "u"),
    )


def closes_itself() -> Case:
    """Close a consumer in its own handler."""
    plan, client = Schedule.with_client()
    plan.broker("store_entries", topic="t", entries=plains(range(10)))
    consumer = plan.consumer(client, listener=True)
    plan.receive(consumer, 1, does=HandlerAct.WAIT, wait=True)
    plan.wait_ops(plan.close(consumer, inside=1))
    plan.wait_ops(plan.let_return(consumer, 1))
    plan.wait_ms(LATE_MS)
    return plan.case(
        "listener/closes-itself",
        "A handler closes its own consumer, with nine more messages in the queue, and returns",
        ("listener.calls-inside-succeed", "listener.none-after-close"),
        consumer=EARLIEST,
        capabilities=LISTENS,
    )


def closed_beside_handler() -> Case:
    """Close while handlers run that return at once; which of them runs at that moment depends on the client."""
    plan, client = Schedule.with_client()
    topics = ("t", "u")
    for topic in topics:
        plan.broker("store_entries", topic=topic, entries=plains(range(WAITING)))
    for _ in range(ROUNDS):
        consumer = plan.consumer(client, topics, listener=True)
        plan.receive(consumer, 2 * WAITING, STARVED_MS)
        plan.wait_received(consumer, 1)
        plan.wait_ops(plan.close(consumer))
    plan.wait_ms(LATE_MS)
    return plan.case(
        "listener/closed-beside-handler",
        "Five times, a consumer of two topics with three hundred messages is opened with a handler, and closed once "
        "that is called",
        ("listener.none-after-close", "robustness.calls-do-not-hang"),
        capabilities=LISTENS,
        consumer=EARLIEST,
        topology=Topology(topics=tuple(Topic(name=topic) for topic in topics)),
    )


def raises() -> Case:
    """Raise in a handler; acknowledge the other messages, so that an acknowledgment of its own would show."""
    plan, client = Schedule.with_client()
    plan.broker("store_entries", topic="t", entries=plains(range(5)))
    consumer = plan.consumer(client, listener=True)
    plan.receive(consumer, 1, does=HandlerAct.RAISE, wait=True)
    plan.wait_ops(plan.receive(consumer, 4, STARVED_MS))
    plan.ack(consumer, messages=(2, 3, 4, 5))
    plan.wait_ms(ACKS_FLUSHED_MS)
    return plan.case(
        "listener/raises",
        "A handler raises an exception at the first of five messages, and returns at the others",
        ("listener.survives-exception", "listener.one-call-at-a-time", "listener.within-threads"),
        consumer={**EARLIEST, "subscription_type": "shared"},
        capabilities=LISTENS,
    )


def _blocked(words: str, title: str, partitions: int) -> Case:
    plan, client = Schedule.with_client()
    for topic in ("t", "u"):
        plan.send(plan.producer(client, topic), 30)
    plan.wait_ops()
    blocked = plan.consumer(client, "t", listener=True)
    plan.receive(blocked, 1, does=HandlerAct.WAIT, wait=True)
    other = plan.consumer(client, "u")
    plan.wait_ops(plan.receive(other, 30, 2 * STARVED_MS))
    plan.wait_ops(plan.ack(other))
    plan.let_return(blocked, 1)
    plan.wait_ops()
    return plan.case(
        f"listener/{words}",
        title,
        ("listener.blocked-handler-delays-no-other",),
        consumer=EARLIEST,
        topology=Topology(topics=tuple(Topic(name=name, partitions=partitions) for name in ("t", "u"))),
        capabilities=(*LISTENS, "partitioned_topics") if partitions else LISTENS,
    )


def blocked_beside_receive() -> Case:
    return _blocked(
        "blocked-beside-receive",
        "A handler of one consumer does not return while another consumer of the client receives thirty messages",
        0,
    )


def blocked_beside_partitions() -> Case:
    return _blocked(
        "blocked-beside-partitions",
        "A handler of one consumer of partitions does not return while another one of the client receives thirty "
        "messages of three partitions",
        THREE_PARTITIONS,
    )


def two_threads() -> Case:
    """Block both threads with two handlers that do not return; a third call has to wait."""
    plan, client = Schedule.with_client(listener_threads=2)
    for topic in ("t", "u", "v"):
        plan.broker("store_entries", topic=topic, entries=plains(range(3)))
    consumers = [plan.consumer(client, topic, listener=True) for topic in ("t", "u", "v")]
    asked = [plan.receive(consumer, 1, 3 * STARVED_MS, does=HandlerAct.WAIT) for consumer in consumers]
    plan.wait_received(consumers[0], 1)
    plan.wait_ms(LATE_MS)
    for consumer in consumers:
        plan.let_return(consumer, 1)
    plan.wait_ms(LATE_MS)
    for consumer in consumers:
        plan.let_return(consumer, 1)
    plan.wait_ops(*asked)
    for consumer in consumers:
        plan.receive(consumer, 2, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "listener/two-threads",
        "The handlers of three consumers of a client with two handler threads are called, and wait",
        ("listener.within-threads", "listener.one-call-at-a-time"),
        consumer=EARLIEST,
        topology=Topology(topics=tuple(Topic(name=name) for name in ("t", "u", "v"))),
        capabilities=LISTENS,
    )


def settles_inside() -> Case:
    """Acknowledge one message in its handler call, and nack another one in its call, which is redelivered."""
    plan, client = Schedule.with_client()
    plan.broker("store_entries", topic="t", entries=plains(range(2)))
    consumer = plan.consumer(client, listener=True)
    plan.receive(consumer, 2, does=HandlerAct.WAIT)
    plan.wait_received(consumer, 1)
    plan.wait_ops(plan.ack(consumer, messages=(1,), inside=1))
    plan.wait_ops(plan.let_return(consumer, 1))
    plan.wait_received(consumer, 2)
    plan.wait_ops(plan.nack(consumer, messages=(2,), inside=2))
    plan.wait_ops(plan.let_return(consumer, 2))
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.wait_ops(plan.ack(consumer, messages=(3,)))
    plan.wait_ms(ACKS_FLUSHED_MS)
    return plan.case(
        "listener/settles-inside",
        "A handler acknowledges its first message and nacks its second, which is redelivered",
        (
            "listener.calls-inside-succeed",
            "listener.one-call-at-a-time",
            "ack.flushed-in-time",
            "nack.redelivery-requested-in-time",
        ),
        consumer={**EARLIEST, "subscription_type": "shared", "ack_group_ms": 100, "nack_delay_ms": NACK_DELAY_MS},
        capabilities=(*LISTENS, "nack_delay"),
    )


def reconnects_while_handler_runs() -> Case:
    """Reconnect while a handler runs: prefetched messages are redelivered, and handled after the call that runs."""
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    consumer = plan.consumer(client, listener=True)
    plan.send(producer, 12)
    plan.receive(consumer, 1, does=HandlerAct.WAIT, wait=True)
    plan.ack(consumer, messages=(1,), inside=1)
    plan.wait_ms(ACKS_FLUSHED_MS)
    plan.send(producer, 1)
    plan.wait_ms(LATE_MS)
    plan.wait_ops(plan.let_return(consumer, 1))
    plan.wait_ops(plan.receive(consumer, 12, 2 * STARVED_MS))
    plan.ack(consumer)
    plan.wait_ops()
    return plan.case(
        "listener/reconnects-while-handler-runs",
        "The connection is lost while a handler runs and eleven messages wait in the queue; then the handler returns",
        ("listener.one-call-at-a-time", "ordering.delivers-in-message-id-order"),
        consumer=EARLIEST,
        faults=(Fault(trigger=up("SEND", k=13), action=Cut()),),
        capabilities=LISTENS,
    )


def partitions_in_order() -> Case:
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    consumer = plan.consumer(client, listener=True)
    plan.send(producer, 30)
    plan.wait_ops(plan.receive(consumer, 30))
    plan.ack(consumer)
    plan.wait_ops()
    return plan.case(
        "listener/partitions",
        "A handler gets thirty messages of three partitions",
        (
            "ordering.delivers-in-message-id-order",
            "listener.one-call-at-a-time",
            "listener.within-threads",
            "delivery.successful-send-is-delivered",
        ),
        consumer=EARLIEST,
        topology=Topology(topics=(Topic(name="t", partitions=THREE_PARTITIONS),)),
        capabilities=(*LISTENS, "partitioned_topics"),
    )


def keys_on_two_threads() -> Case:
    """Call handlers of a Key_Shared consumer: calls for one key must not overlap, however many threads there are."""
    plan, client = Schedule.with_client(listener_threads=2)
    producer = plan.producer(client)
    consumer = plan.consumer(client, listener=True)
    for key in ("a", "b", "c") * 4:
        plan.send(producer, 1, key=key)
    plan.wait_ops(plan.receive(consumer, 12))
    plan.ack(consumer)
    plan.wait_ops()
    return plan.case(
        "listener/keys-on-two-threads",
        "A handler of a Key_Shared consumer gets four messages of each of three keys",
        ("ordering.key-delivered-in-order", "listener.one-call-at-a-time", "listener.within-threads"),
        consumer={**EARLIEST, "subscription_type": "key_shared"},
        capabilities=LISTENS,
    )
