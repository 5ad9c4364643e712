"""Callbacks of sends that call the client, and calls of other threads meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Isolation, Limits, Tier, Topic, Topology
from assay_conformance.model.fault import Drop, Fault

_CALLS = ("send_callback",)
_ENDS = ("producer.calls-in-callback-end", "robustness.calls-do-not-hang")
_LIMITS = Limits(operation_ms=5_000)

UNDER_WAY_MS = 150
"""The time in which a call made during a callback has reached any lock that it may wait for."""


def _waiting(plan: Schedule, producer: int, count: int = 1) -> int:
    """Send messages; the callback of the first one waits."""
    return plan.send(producer, count, callback="wait")


def _sends_inside(words: str, title: str, partitions: int = 0, **config: Any) -> Case:
    """Send in callbacks, by the producer itself and by another one; each returns before what it sent ends."""
    plan = Schedule()
    client = plan.client()
    producer, other = plan.producer(client), plan.producer(client, "u")
    for inner in (producer, other):
        sent = _waiting(plan, producer)
        plan.wait_ops(sent)
        inside = plan.send(inner, 3, in_callback=sent)
        plan.wait_ops(plan.end_callback(sent))
        plan.wait_ops(inside)
    plan.wait_ops(plan.flush(producer))
    return plan.case(
        f"producer/{words}",
        title,
        _ENDS,
        capabilities=(*_CALLS, *(("partitioned_topics",) if partitions else ()), *_capability(config)),
        producer=config,
        topology=Topology(topics=(Topic(name="t", partitions=partitions), Topic(name="u"))),
        limits=_LIMITS,
    )


def _capability(config: dict[str, Any]) -> tuple[str, ...]:
    return ("batching",) if config.get("batching") else ()


def sends_when_it_failed() -> Case:
    """Send in the callback of a send without a receipt, which is called at its send time-out."""
    plan = Schedule()
    producer = plan.producer(plan.client())
    sent = _waiting(plan, producer)
    plan.wait_ops(sent)
    inside = plan.send(producer, 2, in_callback=sent)
    plan.wait_ops(plan.end_callback(sent))
    plan.wait_ops(inside)
    return plan.case(
        "producer/sends-in-callback-of-failed-send",
        "Two messages are sent in the callback of a send that has timed out",
        _ENDS,
        capabilities=(*_CALLS, "send_timeout"),
        producer={"send_timeout_ms": 1_000},
        faults=(Fault(trigger=down("SEND_RECEIPT"), action=Drop()),),
        limits=_LIMITS,
    )


def acks_when_sent() -> Case:
    """Acknowledge in a callback, as an application does that forwards messages and acknowledges each once its copy is
    stored."""
    plan = Schedule()
    client = plan.client()
    plan.broker("store_entries", topic="t", entries=plains(range(3)))
    consumer, producer = plan.consumer(client), plan.producer(client, "u")
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    for delivery in (1, 2, 3):
        sent = _waiting(plan, producer)
        plan.wait_ops(sent)
        plan.ack(consumer, messages=(delivery,), in_callback=sent)
        plan.wait_ops(plan.end_callback(sent))
    plan.wait_ops()
    return plan.case(
        "producer/acks-in-callback",
        "Three messages are received and forwarded, each acknowledged in the callback of the send that forwards it",
        _ENDS,
        capabilities=(*_CALLS, "consumer"),
        consumer=EARLIEST,
        topology=Topology(topics=(Topic(name="t"), Topic(name="u"))),
        limits=_LIMITS,
    )


def _called_beside(words: str, title: str, partitions: int = 0, **config: Any) -> Case:
    """Make calls of other threads while a callback runs, which must not hold a lock that they need."""
    plan = Schedule()
    client = plan.client()
    plan.broker("store_entries", topic="u", entries=plains(range(3)))
    consumer = plan.consumer(client, "u")
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    producer, other = plan.producer(client), plan.producer(client, "u")
    sent = _waiting(plan, producer)
    plan.wait_ops(sent)
    plan.send(producer, 5)
    plan.flush(producer)
    plan.send(other, 2)
    plan.flush(other)
    plan.ack(consumer)
    plan.wait_ms(UNDER_WAY_MS)
    plan.end_callback(sent)
    plan.wait_ops()
    return plan.case(
        f"producer/{words}",
        title,
        _ENDS,
        capabilities=(*_CALLS, "consumer", *(("partitioned_topics",) if partitions else ()), *_capability(config)),
        producer=config,
        consumer=EARLIEST,
        topology=Topology(topics=(Topic(name="t", partitions=partitions), Topic(name="u"))),
        limits=_LIMITS,
    )


def closed_beside() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    sent = _waiting(plan, producer)
    plan.wait_ops(sent)
    plan.close(producer)
    plan.wait_ms(UNDER_WAY_MS)
    plan.end_callback(sent)
    plan.wait_ops()
    return plan.case(
        "producer/closed-beside-callback",
        "A producer is closed while the callback of a send waits; then the callback returns",
        _ENDS,
        capabilities=_CALLS,
        limits=_LIMITS,
    )


def _waits_inside(words: str, what: str, waits: Callable[[Schedule, int, int, int], None], *needs: str) -> Case:
    """Make a blocking call in a callback, in a process of its own, since it may never end."""
    plan = Schedule()
    client = plan.client()
    consumer, producer = plan.consumer(client, "u"), plan.producer(client)
    plan.send(producer, 2)
    plan.wait_ops()
    sent = _waiting(plan, producer)
    plan.wait_ops(sent)
    waits(plan, producer, consumer, sent)
    plan.wait_ops(plan.end_callback(sent))
    return plan.case(
        f"producer/{words}",
        f"In the callback of a send {what}, and waits for it there",
        ("producer.waiting-calls-in-callback-end",),
        capabilities=(*_CALLS, "consumer", *needs),
        topology=Topology(topics=(Topic(name="t"), Topic(name="u"))),
        client={"operation_timeout_ms": 2_000},
        limits=_LIMITS,
        isolation=Isolation.OWN_PROCESS,
        tier=Tier.FULL,
    )


def _flushes(plan: Schedule, producer: int, _: int, sent: int) -> None:
    plan.wait_ops(plan.flush(producer, in_callback=sent))


def _sends(plan: Schedule, producer: int, _: int, sent: int) -> None:
    plan.wait_ops(plan.send(producer, mode="sync", in_callback=sent))


def _closes(plan: Schedule, producer: int, _: int, sent: int) -> None:
    plan.wait_ops(plan.close(producer, in_callback=sent))


def _seeks(plan: Schedule, _: int, consumer: int, sent: int) -> None:
    plan.wait_ops(plan.seek(consumer, publish_time_ms=1, in_callback=sent))


CASES = (
    _sends_inside(
        "sends-in-callback",
        "In the callback of a send its producer sends three messages, and in another callback another producer does",
    ),
    _sends_inside(
        "sends-in-callback-of-batch",
        "In the callback of a send in a batch its producer sends three messages, which fill a batch",
        batching=True,
        batching_max_messages=3,
        batching_max_publish_delay_ms=50,
    ),
    _sends_inside(
        "sends-in-callback-of-partition",
        "In the callback of a send to a partition its producer sends to all three",
        partitions=3,
    ),
    sends_when_it_failed(),
    acks_when_sent(),
    _called_beside(
        "called-beside-callback",
        "While the callback of a send waits, other threads send, flush and acknowledge; then the callback returns",
    ),
    _called_beside(
        "partitions-called-beside-callback",
        "While the callback of a send to one of two partitions waits, other threads send, flush and acknowledge, with "
        "batching; then the callback returns",
        partitions=2,
        batching=True,
        batching_max_publish_delay_ms=400,
    ),
    closed_beside(),
    _waits_inside("flushes-in-callback", "its producer is flushed", _flushes),
    _waits_inside("sends-blocking-in-callback", "a message is sent by the blocking call", _sends, "sync_send"),
    _waits_inside("closes-in-callback", "its producer is closed", _closes),
    _waits_inside("seeks-in-callback", "a consumer of the client seeks", _seeks, "seek"),
)
