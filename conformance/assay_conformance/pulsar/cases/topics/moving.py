"""Cases for topics whose owning broker changes."""

from __future__ import annotations

from assay_conformance.cases.build import AROUND_RESTARTS, EARLIEST, Schedule, up
from assay_conformance.model.case import Case, Isolation, Limits, Topic, Topology
from assay_conformance.model.fault import AfterStep, AnswerError, AtTime, Cut, Fault, Refuse, Scope

UNLOADS: tuple[dict[str, int], ...] = ({}, {"broker": 1}, {"broker": 0})

SHORT_MS = 700
"""Time-out of a last receive that gets nothing: longer than any answer takes."""

BACK_MS = 8_500
"""Time-out of a receive of everything sent: longer than the pause of clients that do not reconnect at once, as
pulsar-rs."""


def repeated_moves() -> Case:
    """Move the topic while messages are being sent; the last receive asks for one message more than there are."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer))
    for args in UNLOADS:
        plan.send(producer, 5)
        plan.broker("unload", topic="t", **args)
        plan.send(producer, 5)
        plan.wait_ops()
    plan.receive(consumer, 1 + 5 * 2 * len(UNLOADS), BACK_MS)
    plan.wait_ops()
    plan.receive(consumer, 1, SHORT_MS)
    plan.wait_ops()
    return plan.case(
        "topics/repeated-moves",
        "A topic is unloaded, moved and moved back while messages are sent, without an assigned broker in the close "
        "commands",
        ("topics.ownership-change-loses-nothing",),
        topology=Topology(brokers=2),
        consumer=EARLIEST,
    )


def _moved(
    words: str,
    title: str,
    *faults: Fault,
    requirement: str = "topics.reconnects-to-assigned-broker",
    verb: str = "move",
) -> Case:
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer, 3))
    plan.broker(verb, topic="t", broker=1)
    plan.wait_ops(plan.send(producer, 3))
    plan.receive(consumer, 6, BACK_MS)
    plan.wait_ops()
    return plan.case(
        f"topics/{words}",
        title,
        (requirement if not faults else "topics.ownership-change-loses-nothing",),
        capabilities=("producer", "consumer"),
        topology=Topology(brokers=2),
        consumer=EARLIEST,
        faults=faults,
    )


def assigned_broker_not_owner() -> Case:
    """Name a broker that is the owner for a moment, and refuses whoever comes."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer, 3))
    plan.broker("move", topic="t", broker=1)
    plan.send(producer, 3)
    plan.wait_fired(0)
    plan.wait_fired(1)
    plan.broker("unload", topic="t", broker=0)
    plan.receive(consumer, 6, BACK_MS)
    plan.wait_ops()
    return plan.case(
        "topics/assigned-broker-not-owner",
        "The close of a producer and a consumer names a new broker, which refuses them, and the topic is elsewhere",
        ("topics.reconnects-to-assigned-broker",),
        capabilities=("producer", "consumer"),
        topology=Topology(brokers=2),
        consumer=EARLIEST,
        faults=tuple(
            Fault(trigger=up(command, times=0), scope=Scope(broker=1), action=AnswerError("ServiceNotReady"))
            for command in ("PRODUCER", "SUBSCRIBE")
        ),
    )


def repeated_restarts() -> Case:
    """Restart brokers as `repeated_moves` moves the topic: two crashes and one orderly stop."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer))
    for graceful in (False, True, False):
        plan.send(producer, 5)
        plan.broker("restart", graceful=graceful)
        plan.send(producer, 5)
        plan.wait_ops()
    plan.receive(consumer, 1 + 5 * 2 * 3, BACK_MS)
    plan.wait_ops()
    plan.receive(consumer, 1, SHORT_MS)
    plan.wait_ops()
    return plan.case(
        "topics/repeated-restarts",
        "A broker crashes, shuts down cleanly, and crashes again, while messages are sent",
        ("topics.ownership-change-loses-nothing",),
        consumer=EARLIEST,
        limits=AROUND_RESTARTS,
    )


def non_persistent(words: str, verb: str, **args: str) -> Case:
    """Move a non-persistent topic; nothing is acknowledged. Whether messages sent after the move arrive depends on
    which client reconnects first.
    """
    plan, client = Schedule.with_client()
    producer, consumer = plan.producer(client), plan.consumer(client)
    plan.wait_ops(plan.send(producer, 2))
    plan.wait_ops(plan.receive(consumer, 2, SHORT_MS))
    plan.wait_ops(plan.close(consumer))
    plan.wait_ops(plan.send(producer, 2))
    late = plan.consumer(client)
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.receive(late, 1, SHORT_MS))
    plan.broker(verb, **args)
    plan.wait_ops(plan.send(producer, 2))
    plan.wait_ops(plan.receive(late, 3, SHORT_MS))
    return plan.case(
        f"topics/non-persistent{words}",
        f"Messages of a non-persistent topic are sent with a consumer, without one, and around a {verb}",
        ("topics.non-persistent-not-stored",),
        capabilities=("producer", "consumer", "resend_pending"),
        topology=Topology(topics=(Topic(name="t", persistent=False),)),
        consumer=EARLIEST,
    )


def migrated_to_another_cluster() -> Case:
    return _moved(
        "migrated-to-another-cluster",
        "A topic migrates to another cluster, and its clients get TOPIC_MIGRATED",
        requirement="topics.follows-migration",
        verb="migrate",
    )


def migrated_while_away() -> Case:
    """Send TOPIC_MIGRATED to reconnecting clients while their registration waits for an answer, which never comes."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer, 3))
    lost = plan.last
    plan.wait_fired(0)
    plan.broker("migrate", topic="t", broker=1)
    plan.send(producer, 3)
    # While sends run: a client that stalls is waited for only once.
    plan.receive(consumer, 6, BACK_MS // 2)
    plan.wait_ops()
    return plan.case(
        "topics/migrated-while-away",
        "A topic migrates to another cluster while its producer and consumer have lost their connection",
        ("topics.follows-migration",),
        capabilities=("producer", "consumer", "resend_pending"),
        topology=Topology(brokers=2),
        isolation=Isolation.OWN_PROCESS,
        consumer=EARLIEST,
        limits=Limits(operation_ms=BACK_MS, case_ms=2 * BACK_MS),
        faults=(Fault(trigger=AfterStep(lost), action=Cut()),),
    )


def deleted_with_open_producer() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    sent = plan.last
    pending = plan.send(producer)
    plan.wait_ops(pending)
    plan.wait_ms(SHORT_MS)
    return plan.case(
        "topics/deleted-with-open-producer",
        "A producer loses its connection, and its topic is deleted before it reconnects",
        ("topics.topic-not-found-is-final",),
        capabilities=("producer",),
        producer={"send_timeout_ms": 3_000},
        faults=(
            Fault(trigger=AfterStep(sent), action=Cut()),
            Fault(trigger=up("PRODUCER", k=2, times=0), action=AnswerError("TopicNotFound")),
        ),
    )


def deleted_with_open_consumer() -> Case:
    plan = Schedule()
    plan.consumer(plan.client())
    opened = plan.last
    plan.wait_ms(2 * SHORT_MS)
    return plan.case(
        "topics/deleted-with-open-consumer",
        "A consumer loses its connection, and its topic is deleted before it reconnects",
        ("topics.topic-not-found-is-final",),
        capabilities=("consumer",),
        faults=(
            Fault(trigger=AfterStep(opened), action=Cut()),
            Fault(trigger=up("SUBSCRIBE", k=2, times=0), action=AnswerError("TopicNotFound")),
        ),
    )


def topic_not_found() -> Case:
    """Open a producer and a consumer that must fail at once, not at the end of their operation time-out."""
    plan, client = Schedule.with_client()
    plan.producer(client, wait=False)
    plan.consumer(client, wait=False)
    plan.wait_ops()
    return plan.case(
        "topics/topic-not-found",
        "A producer and a consumer are opened on a topic, and get the error TopicNotFound",
        ("topics.topic-not-found-is-final",),
        client={"operation_timeout_ms": 3_000},
        capabilities=("producer", "consumer"),
        faults=tuple(
            Fault(trigger=up(command, times=0), action=AnswerError("TopicNotFound"))
            for command in ("PRODUCER", "SUBSCRIBE")
        ),
    )


CASES = (
    non_persistent("", "restart"),
    non_persistent("-unloaded", "unload", topic="t"),
    repeated_moves(),
    repeated_restarts(),
    _moved("assigned-broker", "A topic moves, and CLOSE_PRODUCER and CLOSE_CONSUMER name the new broker"),
    _moved(
        "assigned-broker-rejects",
        "A topic moves; CLOSE_PRODUCER and CLOSE_CONSUMER name the new broker, which refuses one connection",
        Fault(trigger=AtTime(0), scope=Scope(broker=1), action=Refuse(connections=1)),
    ),
    assigned_broker_not_owner(),
    migrated_to_another_cluster(),
    migrated_while_away(),
    deleted_with_open_producer(),
    deleted_with_open_consumer(),
    topic_not_found(),
)
