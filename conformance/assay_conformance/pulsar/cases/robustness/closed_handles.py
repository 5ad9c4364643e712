"""Calls on closed consumers, readers and producers, and on those of a closed client; clients closed as they connect."""

from __future__ import annotations

from typing import Any, Final

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.fault import Delay, Direction, Fault
from assay_conformance.pulsar.outcomes.ends import HANG, SUCCESS

_REQUIREMENT: Final = "robustness.closed-handle-refuses"

_TIMEOUT_MS: Final = 1_000
"""A client may wait this long for a connection that a closed handle never gets, as the seek of the Java client does."""

_CONNECTED_LATE_MS: Final = 500
"""Long enough for the call that closes the client to come before."""


def _calls(plan: Schedule, handle: int, *verbs: str) -> None:
    """Make these calls on a consumer that received three messages, or on a producer, one after the other."""
    for verb in verbs:
        named, args = _CALLS[verb]
        plan.wait_ops(plan.agent(verb.split("-")[0], {named: handle, "on_closed": True, **args}))


_CALLS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "ack": ("consumer", {"messages": [1]}),
    "ack-two": ("consumer", {"messages": [2, 3]}),
    "ack-up-to": ("consumer", {"messages": [3], "cumulative": True}),
    "seek": ("consumer", {"delivery": 1}),
    "unsubscribe": ("consumer", {}),
    "receive": ("consumer", {"timeout_ms": STARVED_MS}),
    "send": ("producer", {"count": 2}),
    "flush": ("producer", {}),
    "open_consumer": ("client", {"subscription": "late"}),
    "open_producer": ("client", {}),
}


def _closed_consumer(words: str, what: str, verbs: tuple[str, ...], *capabilities: str, **config: Any) -> Case:
    """Make calls on a closed consumer; another one goes on receiving on the same connection."""
    plan, client = Schedule.with_client(stored=plains(range(4)))
    consumer, beside = plan.consumer(client, **config), plan.consumer(client, "t", "beside")
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.wait_ops(plan.close(consumer))
    _calls(plan, consumer, *verbs, "receive")
    plan.wait_ops(plan.receive(beside, 4, STARVED_MS))
    return plan.case(
        f"robustness/closed-{words}",
        f"A {words.partition('-')[0]} is closed; then its application {what}, and receives",
        (_REQUIREMENT,),
        capabilities=("consumer", *capabilities),
        client={"operation_timeout_ms": _TIMEOUT_MS},
        consumer=EARLIEST,
    )


def _closed_producer() -> Case:
    plan, client = Schedule.with_client()
    producer, beside = plan.producer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.close(producer))
    _calls(plan, producer, "send", "flush")
    plan.wait_ops(plan.send(beside))
    return plan.case(
        "robustness/closed-producer",
        "A producer is closed; then its application sends two messages, and flushes",
        (_REQUIREMENT,),
        capabilities=("producer",),
    )


def _closed_client() -> Case:
    """Close a client whose producer and consumer were not closed before."""
    plan, client = Schedule.with_client(stored=plains(range(4)))
    producer, consumer = plan.producer(client), plan.consumer(client)
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.wait_ops(plan.close(client))
    _calls(plan, client, "open_consumer", "open_producer")
    _calls(plan, producer, "send", "flush")
    _calls(plan, consumer, "ack", "ack-two", "receive")
    return plan.case(
        "robustness/closed-client",
        "A client is closed; then a consumer and a producer are opened on it, and those it had are used",
        (_REQUIREMENT,),
        capabilities=("producer", "consumer"),
        consumer=EARLIEST,
    )


def _closed_before_connected(words: str) -> Case:
    """Close a client that waits for CONNECTED, with a consumer or producer that has not asked for anything yet."""
    plan, client = Schedule.with_client(stored=plains(range(3)))
    _ = plan.consumer(client, wait=False) if words == "consumer" else plan.producer(client, wait=False)
    plan.wait_frame("CONNECT", Direction.TO_BROKER)
    plan.close(client)
    plan.wait_ops()
    return plan.case(
        f"robustness/closed-before-connected-{words}",
        f"A client is closed while a {words} of it opens, and CONNECTED has not come yet",
        (HANG, SUCCESS),
        capabilities=(words,),
        client={"operation_timeout_ms": 2 * _TIMEOUT_MS},
        # A client that connects as it is opened has got CONNECTED by then.
        faults=(Fault(trigger=down("CONNECTED"), action=Delay(_CONNECTED_LATE_MS)),),
        limits=Limits(operation_ms=8 * _TIMEOUT_MS),
    )


CASES = (
    _closed_consumer("consumer", "acknowledges", ("ack", "ack-two")),
    _closed_consumer("consumer-acks-up-to", "acknowledges cumulatively", ("ack-up-to",), "cumulative_ack"),
    _closed_consumer("consumer-seeks", "seeks", ("seek",), "seek"),
    _closed_consumer("consumer-unsubscribes", "unsubscribes", ("unsubscribe",), "unsubscribe"),
    _closed_consumer("reader", "seeks", ("seek",), "seek", "reader", durable=False),
    _closed_producer(),
    _closed_client(),
    _closed_before_connected("consumer"),
    _closed_before_connected("producer"),
)
