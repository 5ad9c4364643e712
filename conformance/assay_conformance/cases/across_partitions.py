"""A limit that partitions share."""

from __future__ import annotations

from assay_conformance.cases.build import STARVED_MS, Schedule, down
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.fault import Fault, Hold, Until

THREE = Topology(topics=(Topic(name="t", partitions=3),))


def _shared(words: str, title: str, share: int, **limits: int) -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.send(producer, share + 2)
    plan.wait_sends(share, deadline_ms=STARVED_MS)
    plan.wait_fired(0, deadline_ms=STARVED_MS)
    plan.wait_ms(50)
    until = plan.last
    plan.wait_ops()
    return plan.case(
        f"flow/{words}",
        title,
        ("flow.across-partitions",),
        topology=THREE,
        producer={"routing": "single", "block_if_queue_full": False, **limits},
        faults=(Fault(trigger=down("SEND_RECEIPT", times=0), action=Hold(), until=Until(step=until)),),
    )


CASES = (
    _shared(
        "share-of-a-partition",
        "Twelve messages may be without a receipt across three partitions, and six are sent to one of them",
        4,
        max_pending_messages=1_000,
        max_pending_across_partitions=12,
    ),
    _shared(
        "limit-below-the-share",
        "Thirty messages may be without a receipt across three partitions, three on each, and five are sent to one",
        3,
        max_pending_messages=3,
        max_pending_across_partitions=30,
    ),
)
