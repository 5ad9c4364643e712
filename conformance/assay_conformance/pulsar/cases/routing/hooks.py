"""Code of the application inside the client: routers and interceptors."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Case, Config
from assay_conformance.pulsar.cases.resend.connections import QUICK
from assay_conformance.pulsar.cases.routing.modes import FIVE
from assay_conformance.pulsar.cases.routing.partitions import THREE, no_receipts

READ_MS = 50
"""What was written to a client is read by then."""


def routed(words: str, title: str, requirements: tuple[str, ...], producer: Config) -> Case:
    plan, handle = Schedule.with_producer()
    plan.send(handle, 12)
    plan.send(handle, 3, key="k")
    plan.wait_ops()
    return plan.case(words, title, requirements, topology=FIVE, producer=producer)


def full_partition() -> Case:
    """Fill partition 1: of two waves all other receipts come; of the third wave one message has no room."""
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
        "Three times three messages by turns to three partitions, one of which sends no receipts and has room for two",
        ("routing.avoids-full-partition",),
        topology=THREE,
        producer={"routing": "round_robin", "max_pending_messages": 2, "block_if_queue_full": False},
        faults=(no_receipts("t-partition-1", until),),
        limits=QUICK,
    )


CASES = (
    routed(
        "routing/custom-router",
        "Fifteen messages to five partitions, by a router that goes by their numbers",
        ("routing.custom-router-called-once",),
        {"router": "by_number"},
    ),
    routed(
        "routing/custom-router-invalid-partition",
        "Fifteen messages to five partitions, by a router that names a sixth one for every third message",
        ("routing.invalid-partition-fails-one-send", "routing.custom-router-called-once"),
        {"router": "out_of_range"},
    ),
    full_partition(),
)
