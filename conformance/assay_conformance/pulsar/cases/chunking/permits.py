"""Pending queues and the memory limit with chunked messages, also after some have failed."""

from __future__ import annotations

from assay_conformance.cases.build import STARVED_MS, Schedule, down
from assay_conformance.model.case import Case, Config, Isolation, Limits
from assay_conformance.model.fault import Drop, Fault, Hold, Until
from assay_conformance.pulsar.cases.chunking.messages import CHUNKING, LARGE_BYTES, SMALL
from assay_conformance.pulsar.cases.resend.connections import QUICK

ROOM_MS = 250
"""For clients that send no chunk before there is room for the whole message."""
PLACES = 6
"""Room for a message of four chunks and two small ones."""

MEMORY_BYTES = 3 * LARGE_BYTES
REFUSING: Config = {**CHUNKING, "max_pending_messages": PLACES, "block_if_queue_full": False}


def _fill(plan: Schedule, producer: int, sends_before: int) -> None:
    """Send one small message more than the queue has room for, while no receipts come."""
    plan.wait_ms(150)
    with plan.held():
        plan.send(producer, PLACES + 1)
        plan.wait_sends(sends_before + PLACES, deadline_ms=STARVED_MS)
    plan.wait_ops()


def _chunks_and_small(words: str, title: str, requirement: str, large: int) -> Case:
    plan, producer = Schedule.with_producer()
    with plan.held():
        for _ in range(large):
            plan.send(producer, size=LARGE_BYTES)
        plan.send(producer, 3)
        plan.wait_sends(PLACES, deadline_ms=STARVED_MS)
    plan.wait_ops()
    _fill(plan, producer, PLACES)
    return plan.case(
        f"chunking/{words}",
        title,
        (requirement,),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer=REFUSING,
        limits=QUICK,
    )


def chunks_in_a_small_queue() -> Case:
    return _chunks_and_small(
        "chunks-in-a-small-queue",
        "A pending queue of six gets a message of four chunks and three small ones, and later seven small ones",
        "chunking.chunks-count-as-pending",
        1,
    )


def full_queue_fails_chunks() -> Case:
    return _chunks_and_small(
        "full-queue-fails-chunks",
        "A pending queue of six gets two messages of four chunks and three small ones, and later seven small ones",
        "chunking.releases-queue-and-memory",
        2,
    )


def full_queue_blocks_chunks() -> Case:
    """Free queue space chunk by chunk; a send that waits for it must not block the receipts that free it."""
    plan, producer = Schedule.with_producer()
    with plan.held():
        plan.send(producer, 2, size=LARGE_BYTES)
        plan.wait_sends(4, deadline_ms=STARVED_MS)
        plan.wait_ms(50)
    plan.wait_fired(0)
    plan.wait_sends(5, deadline_ms=ROOM_MS)
    plan.wait_ms(150)  # no more frames may be sent now
    room = plan.last
    plan.wait_ops()
    return plan.case(
        "chunking/full-queue-blocks-chunks",
        "Two messages of four chunks go through a blocking pending queue of four; the second receipt is slow",
        ("chunking.chunks-count-as-pending",),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer={**CHUNKING, "max_pending_messages": 4, "block_if_queue_full": True},
        faults=(Fault(trigger=down("SEND_RECEIPT", k=2), action=Hold(), until=Until(step=room)),),
        limits=Limits(operation_ms=6_000, case_ms=20_000),
    )


def timeout_releases_queue() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, size=LARGE_BYTES))
    plan.wait_ops(plan.send(producer, size=LARGE_BYTES))
    _fill(plan, producer, 8)
    return plan.case(
        "chunking/timeout-releases-queue",
        "A message of four chunks times out without receipts, another one gets them; then the queue has room for six",
        ("chunking.releases-queue-and-memory",),
        capabilities=("send_timeout",),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer={**REFUSING, "send_timeout_ms": 500},
        faults=(Fault(trigger=down("SEND_RECEIPT", times=4), action=Drop()),),
        limits=QUICK,
    )


def memory_of_chunks() -> Case:
    plan, producer = Schedule.with_producer()
    for _ in range(2):
        plan.wait_ops(plan.send(producer, size=LARGE_BYTES))
    plan.wait_ms(150)
    with plan.held():
        plan.send(producer, 20, size=10_000)
        plan.wait_sends(8 + MEMORY_BYTES // 10_000, deadline_ms=STARVED_MS)
        plan.wait_ms(50)
    plan.wait_ops()
    return plan.case(
        "chunking/memory-of-chunks",
        "Two chunked messages succeed, and then the client's memory is filled with small ones",
        ("chunking.releases-queue-and-memory", "flow.memory-limit"),
        capabilities=("memory_limit",),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        client={"memory_limit_bytes": MEMORY_BYTES},
        producer={**CHUNKING, "block_if_queue_full": False},
        limits=QUICK,
    )
