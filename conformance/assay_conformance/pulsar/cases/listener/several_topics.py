"""Handlers of consumers of several topics and partitions: topics that open late, are found late, reconnect or are
removed. A consumer of several topics consists of one for each: what its handler does must always reach the right one.
"""

from __future__ import annotations

from typing import Any

from assay_conformance.cases.build import ACKS_FLUSHED_MS, EARLIEST, STARVED_MS, Schedule, up
from assay_conformance.cases.stored import plains
from assay_conformance.model.agent import HandlerAct
from assay_conformance.model.case import Case, Limits, Tier, Topic, Topology
from assay_conformance.model.fault import Cut, Delay, Fault, Scope
from assay_conformance.pulsar.cases.ack_timeout import LEAST, SHORT, Pace
from assay_conformance.pulsar.cases.listener.handlers import LATE_MS, LISTENS, NACK_DELAY_MS
from assay_conformance.pulsar.cases.subscription.several_topics import LOOK_AGAIN_MS, NAMES, NEVER_MS, NEWS

PARTITIONED, PLAIN = "t", "u"
SEVERAL = Topology(topics=(Topic(name=PARTITIONED, partitions=2), Topic(name=PLAIN)))
OF_SEVERAL = (*LISTENS, "partitioned_topics")


def acks_before_last_topic_is_open() -> Case:
    """Acknowledge before the last topic is open.

    A client may call the handler as soon as one topic has messages, or wait until all of them are open.
    """
    plan, consumer = Schedule.with_consumer(("t", "u"), listener=True, wait=False, stored=plains(range(2)))
    plan.receive(consumer, 2, 2 * STARVED_MS, does=HandlerAct.WAIT)
    plan.wait_received(consumer, 1)
    plan.wait_ops(plan.ack(consumer, messages=(1,), inside=1))
    plan.wait_ops(plan.let_return(consumer, 1))
    plan.wait_received(consumer, 2)
    plan.wait_ops(plan.nack(consumer, messages=(2,), inside=2))
    plan.wait_ops(plan.let_return(consumer, 2))
    plan.wait_ops(plan.receive(consumer, 1, 2 * STARVED_MS))
    plan.wait_ops(plan.ack(consumer, messages=(3,)))
    plan.wait_ms(ACKS_FLUSHED_MS)
    return plan.case(
        "listener/acks-before-last-topic-is-open",
        "A handler gets and acknowledges messages of one topic while its consumer's other topic is still opening",
        ("listener.calls-inside-succeed", "ack.flushed-in-time", "nack.redelivery-requested-in-time"),
        capabilities=(*LISTENS, "nack_delay"),
        consumer={**EARLIEST, "subscription_type": "shared", "ack_group_ms": 100, "nack_delay_ms": NACK_DELAY_MS},
        topology=Topology(topics=(Topic(name="t"), Topic(name="u"))),
        faults=(Fault(trigger=up("SUBSCRIBE"), action=Delay(STARVED_MS // 2, overtake=True), scope=Scope(topic="u")),),
    )


def acked_in_handler(pace: Pace) -> Case:
    """Acknowledge in a handler: the acknowledgment time-out of a message must not start after that."""
    plan = Schedule()
    topics = ("t-partition-0", "t-partition-1", PLAIN)
    for number, topic in enumerate(topics):
        plan.broker("store_entries", topic=topic, entries=plains(range(2 * number, 2 * number + 2)))
    consumer = plan.consumer(plan.client(), (PARTITIONED, PLAIN), listener=True)
    plan.receive(consumer, 2 * len(topics), 2 * STARVED_MS, does=HandlerAct.WAIT)
    for delivery in range(1, 2 * len(topics) + 1):
        plan.wait_received(consumer, delivery)
        if delivery > 1:
            plan.wait_ops(plan.ack(consumer, messages=(delivery,), inside=delivery))
        plan.wait_ops(plan.let_return(consumer, delivery))
    plan.wait_ms(pace.over_ms)
    plan.wait_ops(plan.receive(consumer, 1, 2 * STARVED_MS))
    plan.wait_ops(plan.ack(consumer, messages=(2 * len(topics) + 1,)))
    plan.wait_ms(ACKS_FLUSHED_MS)
    return plan.case(
        f"listener/acked-in-handler{pace.suffix}",
        "A handler acknowledges five of six messages of two topics, one of them partitioned, and the acknowledgment "
        "time-out passes",
        ("ack-timeout.ended-by-ack", "ack-timeout.redelivery-requested-in-time", "listener.one-call-at-a-time"),
        consumer=pace.consumer,
        topology=SEVERAL,
        **{**pace.fields, "capabilities": (*OF_SEVERAL, "ack_timeout", *pace.fields.get("capabilities", ()))},
    )


def waiting_for_handler(pace: Pace) -> Case:
    """Let messages wait for the handler for longer than the time-out, which begins when they are handed over."""
    plan = Schedule()
    for number, topic in enumerate(("t", "u")):
        plan.broker("store_entries", topic=topic, entries=plains([2 * number, 2 * number + 1]))
    consumer = plan.consumer(plan.client(), ("t", "u"), listener=True)
    plan.receive(consumer, 4, 2 * STARVED_MS + pace.over_ms, does=HandlerAct.WAIT)
    for delivery in range(1, 5):
        plan.wait_received(consumer, delivery)
        plan.wait_ops(plan.ack(consumer, messages=(delivery,), inside=delivery))
        if delivery == 1:
            plan.wait_ms(pace.over_ms)
        plan.wait_ops(plan.let_return(consumer, delivery))
    return plan.case(
        f"listener/waiting-for-handler{pace.suffix}",
        "A handler takes longer than the time-out with the first of four messages of two topics, and acknowledges all",
        ("ack-timeout.not-for-prefetched", "listener.one-call-at-a-time"),
        consumer=pace.consumer,
        topology=Topology(topics=(Topic(name="t"), Topic(name="u"))),
        **{**pace.fields, "capabilities": (*LISTENS, "ack_timeout", *pace.fields.get("capabilities", ()))},
    )


def topic_found_later(words: str, again_ms: int, **fields: Any) -> Case:
    plan = Schedule()
    # The topics of a Case exist from its beginning.
    plan.broker("delete", topic="news-new")
    client = plan.client()
    plan.wait_ops(plan.send(plan.producer(client, "news-old"), 3))
    consumer = plan.consumer(client, NEWS, pattern="news-.*", listener=True)
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    producer = plan.producer(client, "news-new")
    plan.wait_ops(plan.send(producer, 3))
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS + 2 * again_ms))
    plan.wait_ops(plan.send(producer, 3))
    plan.wait_ops(plan.receive(consumer, 4, STARVED_MS))
    plan.wait_ops(plan.ack(consumer))
    return plan.case(
        f"listener/{words}",
        "A handler of a pattern consumer gets messages of a topic that is created later; the client looks for topics "
        "every {again_ms} ms",
        (
            "listener.one-call-at-a-time",
            "subscription.pattern-finds-new-topics",
            "delivery.reaches-waiting-receive",
            "flow.waiting-receive-has-permits",
        ),
        capabilities=("producer", *LISTENS, "topic_patterns"),
        topology=NAMES,
        consumer={**EARLIEST, "pattern_update_ms": again_ms},
        **fields,
    )


def topic_found_while_paused() -> Case:
    plan = Schedule()
    # The topics of a Case exist from its beginning.
    plan.broker("delete", topic="news-new")
    client = plan.client()
    plan.wait_ops(plan.send(plan.producer(client, "news-old"), 3))
    consumer = plan.consumer(client, NEWS, pattern="news-.*", listener=True)
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.wait_ops(plan.pause(consumer))
    plan.wait_ms(LATE_MS)
    producer = plan.producer(client, "news-new")
    plan.wait_ops(plan.send(producer, 3))
    plan.wait_ops(plan.receive(consumer, 3, 2 * LOOK_AGAIN_MS))
    plan.wait_ops(plan.resume(consumer))
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.wait_ops(plan.send(producer, 3))
    plan.wait_ops(plan.receive(consumer, 4, STARVED_MS))
    return plan.case(
        "listener/topic-found-while-paused",
        "A topic that matches the pattern is created while a handler is paused; once resumed, the handler gets its "
        "messages",
        (
            "listener.pause-holds-on-new-sessions",
            "delivery.reaches-waiting-receive",
            "flow.waiting-receive-has-permits",
        ),
        capabilities=("producer", *LISTENS, "listener_pause", "topic_patterns", "topic_watcher"),
        topology=NAMES,
        consumer={**EARLIEST, "pattern_update_ms": LOOK_AGAIN_MS},
    )


def paused_and_resumed() -> Case:
    """Pause; meanwhile the connection is lost, more messages are sent, and nacked ones are due for redelivery."""
    plan, client = Schedule.with_client()
    producers = [plan.producer(client, topic) for topic in (PARTITIONED, PLAIN)]
    consumer = plan.consumer(plan.client(), (PARTITIONED, PLAIN), listener=True)
    plan.wait_ops(*(plan.send(producer, 4) for producer in producers))
    plan.wait_ops(plan.receive(consumer, 8, STARVED_MS))
    plan.wait_ops(plan.ack(consumer, messages=(1, 2, 3, 5, 6, 7)))
    plan.wait_ops(plan.pause(consumer))
    plan.wait_ops(plan.nack(consumer, messages=(4, 8)))
    plan.wait_fired(0)
    plan.wait_ops(*(plan.send(producer, 4) for producer in producers))
    plan.wait_ops(plan.receive(consumer, 10, LATE_MS))
    plan.wait_ops(plan.resume(consumer))
    plan.wait_ops(*(plan.send(producer, 2) for producer in producers))
    plan.wait_ops(plan.receive(consumer, 14, 2 * STARVED_MS))
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.wait_ops(plan.ack(consumer))
    plan.wait_ms(ACKS_FLUSHED_MS)
    return plan.case(
        "listener/paused-and-resumed",
        "A handler of two topics is paused; eight messages are sent, two nacked, and the connection is lost before it "
        "is resumed",
        (
            "delivery.reaches-waiting-receive",
            "delivery.successful-send-is-delivered",
            "listener.pause-holds-on-new-sessions",
            "flow.waiting-receive-has-permits",
            "nack.redelivery-requested-in-time",
            "listener.one-call-at-a-time",
            "robustness.calls-do-not-hang",
        ),
        capabilities=("producer", *OF_SEVERAL, "listener_pause", "nack_delay"),
        consumer={**EARLIEST, "subscription_type": "shared", "nack_delay_ms": NACK_DELAY_MS},
        topology=SEVERAL,
        faults=(Fault(trigger=up("REDELIVER_UNACKNOWLEDGED_MESSAGES"), action=Cut()),),
    )


def returns_and_is_closed_inside() -> Case:
    """Reconnect a consumer of three topics, and close it in its last handler call.

    Prefetched messages are redelivered; another consumer gets what was not acknowledged.
    """
    plan, client = Schedule.with_client()
    producers = [plan.producer(client, topic) for topic in (PARTITIONED, PLAIN)]
    listens = plan.client()
    consumer = plan.consumer(listens, (PARTITIONED, PLAIN), listener=True)
    for producer in producers:
        plan.send(producer, 6)
    plan.receive(consumer, 1, 2 * STARVED_MS, does=HandlerAct.WAIT, wait=True)
    plan.wait_ops(plan.ack(consumer, messages=(1,), inside=1))
    plan.wait_fired(0)
    plan.wait_ms(LATE_MS)
    plan.wait_ops(plan.let_return(consumer, 1))
    plan.wait_ops(plan.receive(consumer, 6, 2 * STARVED_MS))
    plan.receive(consumer, 1, 2 * STARVED_MS, does=HandlerAct.WAIT)
    plan.wait_received(consumer, 8)
    plan.wait_ops(plan.close(consumer, inside=8))
    plan.wait_ops(plan.let_return(consumer, 8))
    plan.wait_ms(LATE_MS)
    after = plan.consumer(listens, (PARTITIONED, PLAIN))
    plan.wait_ops(plan.receive(after, 11, 2 * STARVED_MS))
    plan.wait_ops(plan.ack(after))
    return plan.case(
        "listener/returns-and-is-closed-inside",
        "Two topics lose their connection while a handler runs; a later call of it closes their consumer",
        (
            "listener.one-call-at-a-time",
            "listener.calls-inside-succeed",
            "listener.none-after-close",
            "delivery.successful-send-is-delivered",
            "robustness.calls-do-not-hang",
        ),
        capabilities=("producer", *OF_SEVERAL),
        consumer=EARLIEST,
        topology=SEVERAL,
        faults=(Fault(trigger=up("ACK"), action=Cut()),),
    )


CASES = (
    acks_before_last_topic_is_open(),
    acked_in_handler(SHORT),
    acked_in_handler(LEAST),
    waiting_for_handler(SHORT),
    waiting_for_handler(LEAST),
    topic_found_later("topic-found-later", LOOK_AGAIN_MS),
    topic_found_later(
        "topic-found-within-a-minute",
        NEVER_MS,
        tier=Tier.FULL,
        limits=Limits(operation_ms=3 * NEVER_MS, case_ms=4 * NEVER_MS, least_wall_ms=STARVED_MS),
    ),
    topic_found_while_paused(),
    paused_and_resumed(),
    returns_and_is_closed_inside(),
)
