"""Code of the application inside the client: routers and interceptors."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Case, Config
from assay_conformance.pulsar.cases.resend.connections import QUICK
from assay_conformance.pulsar.cases.routing.modes import FIVE
from assay_conformance.pulsar.cases.routing.partitions import THREE, no_receipts

READ_MS = 50
"""The time in which a client has read what was written to it."""


def routed(words: str, title: str, requirements: tuple[str, ...], producer: Config) -> Case:
    plan, handle = Schedule.with_producer()
    plan.send(handle, 12)
    plan.send(handle, 3, key="k")
    plan.wait_ops()
    return plan.case(words, title, requirements, topology=FIVE, producer=producer)


def full_partition() -> Case:
    """Fill the queue of partition 1: all other receipts of two rounds come, and one message of the third round has no
    room."""
    plan, producer = Schedule.with_producer()
    for wave in (1, 2):
        plan.send(producer, 3)
        plan.wait_receipts(3 * wave, deadline_ms=500)
        plan.wait_ms(READ_MS)
    plan.wait_ops(plan.send(producer, 3), deadline_ms=500)
    until = plan.last
    plan.wait_ops()
    return plan.case(
        "routing/full-partition",
        "Three rounds of three messages go to three partitions in turn, one of which sends no receipts and has a "
        "pending queue of two",
        ("routing.avoids-full-partition",),
        topology=THREE,
        producer={"routing": "round_robin", "max_pending_messages": 2, "block_if_queue_full": False},
        faults=(no_receipts("t-partition-1", until),),
        limits=QUICK,
    )


CASES = (
    routed(
        "routing/custom-router",
        "Fifteen messages go to five partitions, by a custom router that uses their numbers",
        ("routing.custom-router-called-once",),
        {"router": "by_number"},
    ),
    routed(
        "routing/custom-router-invalid-partition",
        "Fifteen messages go to five partitions, by a custom router that names a sixth one for every third message",
        ("routing.invalid-partition-fails-one-send", "routing.custom-router-called-once"),
        {"router": "out_of_range"},
    ),
    full_partition(),
)
