"""Reconnecting: consumers and readers that are refused repeatedly, cut off, closed while others stay, or idle."""

from __future__ import annotations

from typing import Any

from assay_conformance.cases.build import AROUND_RESTARTS, EARLIEST, STARVED_MS, Schedule, up
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Limits, Topic, Topology
from assay_conformance.model.fault import AfterStep, AnswerError, Cut, Direction, Fault

PATIENT = Limits(operation_ms=12_000, case_ms=40_000, least_wall_ms=800)
"""For Cases in which a consumer may have given up: longer than any client pauses between attempts."""

LONGEST_WAIT_MS = 7_000
NOTHING_LEFT_MS = 300


def _is_back(plan: Schedule, admitted: int, consumer: int, messages: int) -> None:
    """Wait until so many SUBSCRIBEs were admitted in all; then receive the messages."""
    plan.wait_frame("SUCCESS", Direction.TO_CLIENT, admitted)
    plan.wait_ops(plan.receive(consumer, messages, STARVED_MS))


def refused_repeatedly(words: str, title: str, error: str, *, durable: bool = True) -> Case:
    """Refuse the reconnect; nothing is received meanwhile, so the client reconnects only because the consumer is
    open."""
    plan = Schedule()
    reads: dict[str, Any] = {} if durable else {"durable": False}
    plan.broker("store_entries", topic="t", entries=plains(range(2)))
    coming = plan.consumer(plan.client(), **reads)
    opened = plan.last
    plan.wait_fired(0)
    _is_back(plan, 2, coming, 2)
    # A client that gives up may hand over what had come before: only the receive after that fails.
    plan.wait_ops(plan.receive(coming, 1, NOTHING_LEFT_MS))
    return plan.case(
        f"subscription/{words}",
        title,
        ("subscription.keeps-reconnecting",),
        capabilities=("consumer",) if durable else ("reader",),
        consumer=EARLIEST,
        faults=(
            Fault(trigger=AfterStep(opened), action=Cut()),
            Fault(trigger=up("SUBSCRIBE", k=2, times=3), action=AnswerError(error)),
        ),
        limits=PATIENT,
    )


def cut_while_returning() -> Case:
    """Cut three connections: at the second SUBSCRIBE, which is lost, after the third one, and at the FLOW after the
    fourth. A client that does not reconnect after one of them fails there.
    """
    plan, consumer = Schedule.with_consumer()
    opened = plan.last
    plan.wait_frame("FLOW", Direction.TO_BROKER)
    plan.wait_fired(0)
    plan.wait_frame("FLOW", Direction.TO_BROKER, 3)
    plan.broker("store_entries", topic="t", entries=plains(range(2)))
    plan.wait_ops(plan.receive(consumer, 2, STARVED_MS))
    return plan.case(
        "subscription/cut-while-returning",
        "A consumer reconnects, and its connection is lost at SUBSCRIBE, after it, and after its FLOW",
        ("subscription.keeps-reconnecting",),
        capabilities=("consumer",),
        # A client may notice a lost SUBSCRIBE only at its time-out.
        client={"operation_timeout_ms": 3_000},
        consumer=EARLIEST,
        faults=(
            Fault(trigger=AfterStep(opened), action=Cut()),
            Fault(trigger=up("SUBSCRIBE", k=2), action=Cut(before=True), optional=True),
            Fault(trigger=up("SUBSCRIBE", k=3), action=Cut(), optional=True),
            Fault(trigger=up("FLOW", k=2), action=Cut(), optional=True),
        ),
        limits=PATIENT,
    )


def one_of_two_closed() -> Case:
    """Close one of two consumers; the connection that they share stays open."""
    plan, client = Schedule.with_client()
    closed, other = plan.consumer(client), plan.consumer(client, "u")
    plan.broker("unload", topic="t")
    for topic in ("t", "u"):
        plan.broker("store_entries", topic=topic, entries=plains(range(2)))
    plan.receive(other, 2, STARVED_MS)
    _is_back(plan, 3, closed, 2)
    plan.wait_ops()
    return plan.case(
        "subscription/one-of-two-closed",
        "The broker closes one of two consumers of a client, and refuses its first new SUBSCRIBE",
        ("subscription.keeps-reconnecting",),
        capabilities=("consumer",),
        topology=Topology(topics=(Topic(name="t"), Topic(name="u"))),
        consumer=EARLIEST,
        faults=(Fault(trigger=up("SUBSCRIBE", k=3), action=AnswerError("ServiceNotReady")),),
        limits=PATIENT,
    )


def one_of_several_topics_refused() -> Case:
    """Close the part of a consumer that is of one topic, and refuse its return once."""
    plan = Schedule()
    consumer = plan.consumer(plan.client(), ("t", "u"))
    plan.broker("unload", topic="t")
    plan.wait_frame("SUCCESS", Direction.TO_CLIENT, 3)
    for number, topic in enumerate(("t", "u")):
        plan.broker("store_entries", topic=topic, entries=plains([2 * number, 2 * number + 1]))
    plan.wait_ops(plan.receive(consumer, 4, STARVED_MS))
    return plan.case(
        "subscription/one-of-several-topics-refused",
        "The broker closes a consumer of two topics on one of them, and refuses it once when it comes back",
        ("subscription.keeps-reconnecting",),
        capabilities=("consumer",),
        topology=Topology(topics=(Topic(name="t"), Topic(name="u"))),
        consumer=EARLIEST,
        faults=(Fault(trigger=up("SUBSCRIBE", k=3), action=AnswerError("ServiceNotReady")),),
        limits=PATIENT,
    )


def idle_through_a_restart() -> Case:
    plan, consumer = Schedule.with_consumer()
    plan.broker("restart")
    plan.broker("store_entries", topic="t", entries=plains(range(2)))
    _is_back(plan, 2, consumer, 2)
    return plan.case(
        "subscription/idle-through-a-restart",
        "The broker of a consumer that is not received from crashes and starts again",
        ("subscription.keeps-reconnecting",),
        capabilities=("consumer",),
        consumer=EARLIEST,
        limits=AROUND_RESTARTS,
    )


def refused_for_good() -> Case:
    """Refuse the reconnect for good, and wait longer than any client pauses, since it may try again."""
    plan, consumer = Schedule.with_consumer()
    opened = plan.last
    plan.wait_fired(1)
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.wait_ops(plan.receive(consumer, 1, LONGEST_WAIT_MS))
    return plan.case(
        "subscription/refused-for-good",
        "A consumer that reconnects is no longer authorized; then its application receives",
        ("subscription.keeps-reconnecting",),
        capabilities=("consumer",),
        faults=(
            Fault(trigger=AfterStep(opened), action=Cut()),
            Fault(trigger=up("SUBSCRIBE", k=2, times=0), action=AnswerError("AuthorizationError")),
        ),
        limits=PATIENT,
    )


def redeliver_all_while_away() -> Case:
    """Call for redelivery of everything while the consumer is not connected: the broker delivers it by itself."""
    plan, consumer = Schedule.with_consumer_of(plains(range(3)), receives=3)
    received = plan.last
    plan.wait_fired(0)
    plan.redeliver_all(consumer)
    plan.receive(consumer, 3, timeout_ms=STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "subscription/redeliver-all-while-away",
        "The application calls for redelivery of all just after its connection was lost",
        ("subscription.keeps-reconnecting",),
        consumer=EARLIEST,
        capabilities=("redeliver_all",),
        faults=(Fault(trigger=AfterStep(received), action=Cut()),),
    )


CASES = (
    refused_repeatedly(
        "refused-as-not-ready",
        "A consumer reconnects to a broker that is not ready for it three times",
        "ServiceNotReady",
    ),
    refused_repeatedly(
        "refused-as-busy",
        "A consumer reconnects three times while its broker still has its previous connection",
        "ConsumerBusy",
    ),
    refused_repeatedly(
        "reader-refused-as-not-ready",
        "A reader reconnects to a broker that is not ready for it three times",
        "ServiceNotReady",
        durable=False,
    ),
    cut_while_returning(),
    one_of_two_closed(),
    one_of_several_topics_refused(),
    idle_through_a_restart(),
    refused_for_good(),
    redeliver_all_while_away(),
)
