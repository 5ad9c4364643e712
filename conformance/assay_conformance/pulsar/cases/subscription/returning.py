"""Coming back: consumers and readers that are refused again and again, cut off, closed beside others, or idle."""

from __future__ import annotations

from typing import Any

from assay_conformance.cases.build import AROUND_RESTARTS, EARLIEST, STARVED_MS, Schedule, up
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Limits, Topic, Topology
from assay_conformance.model.fault import AfterStep, AnswerError, Cut, Direction, Fault

PATIENT = Limits(operation_ms=12_000, case_ms=40_000, least_wall_ms=800)
"""For Cases in which a consumer that has given up is waited for: longer than any client waits between attempts."""

LONGEST_WAIT_MS = 7_000


def _is_back(plan: Schedule, admitted: int, consumer: int, messages: int) -> None:
    """Wait until so many SUBSCRIBEs were admitted in all; then receive what there is."""
    plan.wait_frame("SUCCESS", Direction.TO_CLIENT, admitted)
    plan.wait_ops(plan.receive(consumer, messages, STARVED_MS))


def refused_repeatedly(words: str, title: str, error: str, *, durable: bool = True) -> Case:
    """Refuse the return; nothing is received meanwhile, so the client returns only because it is open."""
    plan = Schedule()
    reads: dict[str, Any] = {} if durable else {"durable": False}
    plan.broker("store_entries", topic="t", entries=plains(range(2)))
    coming = plan.consumer(plan.client(), **reads)
    opened = plan.last
    plan.wait_fired(0)
    _is_back(plan, 2, coming, 2)
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
    """Cut three connections: with the second SUBSCRIBE, which is lost, the third one, and the permits of the fourth.

    A client that does not return after one of them is judged by that.
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
        "A consumer comes back, and its connection is lost at SUBSCRIBE, behind it, and behind its FLOW",
        ("subscription.keeps-reconnecting",),
        capabilities=("consumer",),
        # A client may notice a SUBSCRIBE that was lost when its time is over.
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
    """Close one of two consumers; the connection that they share stays."""
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
        "The broker closes one of two consumers of a client, and refuses it once when it comes back",
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
        "The broker of a consumer that is not received from dies and comes up again",
        ("subscription.keeps-reconnecting",),
        capabilities=("consumer",),
        consumer=EARLIEST,
        limits=AROUND_RESTARTS,
    )


def refused_for_good() -> Case:
    """Refuse a return for good, and wait for as long as any client pauses: it may try regardless."""
    plan, consumer = Schedule.with_consumer()
    opened = plan.last
    plan.wait_fired(1)
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.wait_ops(plan.receive(consumer, 1, LONGEST_WAIT_MS))
    return plan.case(
        "subscription/refused-for-good",
        "A consumer that comes back is no longer authorized; then its application receives",
        ("subscription.keeps-reconnecting",),
        capabilities=("consumer",),
        faults=(
            Fault(trigger=AfterStep(opened), action=Cut()),
            Fault(trigger=up("SUBSCRIBE", k=2, times=0), action=AnswerError("AuthorizationError")),
        ),
        limits=PATIENT,
    )


CASES = (
    refused_repeatedly(
        "refused-as-not-ready",
        "A consumer comes back to a broker that is not ready for it three times",
        "ServiceNotReady",
    ),
    refused_repeatedly(
        "refused-as-busy",
        "A consumer comes back three times while its broker holds on to its connection before",
        "ConsumerBusy",
    ),
    refused_repeatedly(
        "reader-refused-as-not-ready",
        "A reader comes back to a broker that is not ready for it three times",
        "ServiceNotReady",
        durable=False,
    ),
    cut_while_returning(),
    one_of_two_closed(),
    one_of_several_topics_refused(),
    idle_through_a_restart(),
    refused_for_good(),
)
