"""A limit that partitions share."""

from __future__ import annotations

from assay_conformance.cases.build import STARVED_MS, Schedule, down
from assay_conformance.model.case import Case, Isolation, Topic, Topology
from assay_conformance.model.fault import Fault, Hold, Until
from assay_conformance.pulsar.cases.flow.permits import LIMIT_BYTES, ROOM_FOR_THREE, after_three_too_large

THREE = Topology(topics=(Topic(name="t", partitions=3),))


def _unreceipted(plan: Schedule, sends: int) -> int:
    """Send so many messages; return the step up to which none of them has its receipt."""
    plan.wait_sends(sends, deadline_ms=STARVED_MS)
    plan.wait_fired(0, deadline_ms=STARVED_MS)
    plan.wait_ms(50)
    until = plan.last
    plan.wait_ops()
    return until


def _no_receipts(until: int) -> tuple[Fault, ...]:
    return (Fault(trigger=down("SEND_RECEIPT", times=0), action=Hold(), until=Until(step=until)),)


def _shared(words: str, title: str, share: int, **limits: int) -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, share + 2)
    until = _unreceipted(plan, share)
    return plan.case(
        f"flow/{words}",
        title,
        ("flow.max-pending-across-partitions",),
        topology=THREE,
        producer={"routing": "single", "block_if_queue_full": False, **limits},
        faults=_no_receipts(until),
    )


def room_after_failed_batches() -> Case:
    """Let batches fail on a partitioned topic, as on a single one."""
    plan = Schedule()
    producer = after_three_too_large(plan)
    plan.send(producer, 4)
    until = _unreceipted(plan, 1)
    return plan.case(
        "flow/room-after-failed-batches-of-a-partition",
        "Three batches to one of three partitions fail as too large; then its queue takes three messages, but not a "
        "fourth",
        ("flow.max-pending-across-partitions",),
        capabilities=("batching",),
        topology=Topology(topics=THREE.topics, max_message_bytes=LIMIT_BYTES),
        isolation=Isolation.OWN_PROCESS,
        producer={**ROOM_FOR_THREE, "routing": "single", "max_pending_across_partitions": 30},
        faults=_no_receipts(until),
    )


CASES = (
    room_after_failed_batches(),
    _shared(
        "max-pending-partition-share",
        "With a limit of twelve pending messages across three partitions, six are sent to one of them",
        4,
        # Not less: the Java client refuses a limit across partitions below that of one partition.
        max_pending_messages=12,
        max_pending_across_partitions=12,
    ),
    _shared(
        "max-pending-below-partition-share",
        "With limits of thirty pending messages across three partitions and three on each, five are sent to one of "
        "them",
        3,
        max_pending_messages=3,
        max_pending_across_partitions=30,
    ),
)
