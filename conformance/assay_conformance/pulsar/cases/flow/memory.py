"""Cases for the memory limit of a client: sends fill it, they end, and all of it is available again.

Clients may let the last message exceed the limit or not: a refusal is judged only where there was room in either case.
"""

from __future__ import annotations

from typing import Any

from assay_conformance.cases.build import STARVED_MS, Schedule, down
from assay_conformance.model.case import Case, Config, Isolation, Topic, Topology
from assay_conformance.model.fault import Drop, Fault
from assay_conformance.pulsar.cases.flow.permits import LIMIT_BYTES, REFUSED_MS

ROOM_BYTES = 2_000
SIZE_BYTES = 500
FULL = ROOM_BYTES // SIZE_BYTES
FREE_MS = 150
"""The time in which the memory of ended sends is certainly free again."""

REFUSES: Config = {"block_if_queue_full": False}


def _fills(plan: Schedule, producer: int, sent: int, size: int = SIZE_BYTES) -> None:
    """Send two messages more than fit, in addition to `sent` earlier ones."""
    plan.send(producer, FULL + 2, size=size)
    plan.wait_sends(sent + FULL, deadline_ms=STARVED_MS)
    plan.wait_ms(REFUSED_MS)


def _case(plan: Schedule, words: str, title: str, *requirements: str, room: int = ROOM_BYTES, **fields: Any) -> Case:
    return plan.case(
        f"flow/{words}",
        title,
        ("flow.full-queue-blocks-or-fails", *requirements),
        client={"memory_limit_bytes": room},
        **{"producer": REFUSES, "capabilities": ("memory_limit",), **fields},
    )


def memory_after_receipts() -> Case:
    plan, producer = Schedule.with_producer()
    with plan.held():
        _fills(plan, producer, 0)
    plan.wait_ops()
    plan.wait_ms(FREE_MS)
    with plan.held():
        _fills(plan, producer, FULL)
    plan.wait_ops()
    return _case(
        plan,
        "memory-after-receipts",
        "A client with a memory limit of 2,000 bytes fills it twice; in between all messages get their receipts",
        "flow.memory-limit",
    )


def memory_after_failures() -> Case:
    """Send two messages that are too large, and that would fill the memory."""
    plan, producer = Schedule.with_producer()
    for _ in range(2):
        plan.wait_ops(plan.send(producer, 1, size=LIMIT_BYTES + 1))
    plan.wait_ms(FREE_MS)
    with plan.held():
        _fills(plan, producer, 0, 2 * LIMIT_BYTES // FULL)
    plan.wait_ops()
    return _case(
        plan,
        "memory-after-failures",
        "Two sends are too large; afterwards there is as much memory for others as before, and no more",
        room=2 * LIMIT_BYTES,
        topology=Topology(max_message_bytes=LIMIT_BYTES),
        isolation=Isolation.OWN_PROCESS,
    )


def memory_after_time_outs() -> Case:
    plan, producer = Schedule.with_producer()
    with plan.held():
        plan.wait_ops(plan.send(producer, FULL, size=SIZE_BYTES))
        plan.wait_ms(FREE_MS)
        _fills(plan, producer, FULL)
    plan.wait_ops()
    return _case(
        plan,
        "memory-after-time-outs",
        "Sends that fill the client's memory limit time out, and then as many others fit",
        producer={**REFUSES, "send_timeout_ms": 500},
        capabilities=("memory_limit", "send_timeout"),
    )


def memory_after_the_end_of_a_topic() -> Case:
    """Send on a topic that is terminated."""
    plan, client = Schedule.with_client()
    gone, producer = plan.producer(client, "u"), plan.producer(client)
    plan.wait_ops(plan.send(gone))
    plan.broker("terminate", topic="u")
    for _ in range(FULL):
        plan.wait_ops(plan.send(gone, size=SIZE_BYTES))
    with plan.held():
        _fills(plan, producer, 1)
    plan.wait_ops()
    return _case(
        plan,
        "memory-after-the-end-of-a-topic",
        "Sends on a terminated topic fail; then as many sends on another one fit into the memory limit as before",
        "flow.memory-limit",
        topology=Topology(topics=(Topic(name="t"), Topic(name="u"))),
    )


def memory_after_a_close() -> Case:
    """Close a producer, whose memory is then free for the client's other producers."""
    plan, client = Schedule.with_client()
    gone = plan.producer(client)
    plan.send(gone, FULL, size=SIZE_BYTES)
    plan.wait_sends(FULL)
    plan.wait_fired(0)
    plan.wait_ops(plan.close(gone))
    plan.wait_ops()
    producer = plan.producer(client)
    plan.wait_ms(FREE_MS)
    with plan.held():
        _fills(plan, producer, FULL)
    plan.wait_ops()
    return _case(
        plan,
        "memory-after-a-close",
        "A producer with pending sends is closed, and another producer of its client gets all of the memory",
        faults=(Fault(trigger=down("SEND_RECEIPT", times=FULL), action=Drop()),),
    )
