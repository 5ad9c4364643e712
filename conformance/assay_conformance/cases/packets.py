"""Packets lost, doubled, overtaken, damaged, late or blocked: TCP repairs them, and a client notices time alone.

What TCP cannot repair in time ends a connection: a partition that outlasts a keep-alive.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from assay_conformance.cases.build import EARLIEST, Schedule
from assay_conformance.cases.resend import lost_receipts
from assay_conformance.cases.ways import there_and_back
from assay_conformance.model.case import Case, Limits, Topology
from assay_conformance.model.fault import AfterStep, Direction, Fault, Until
from assay_conformance.model.outside import Partition, Shape

PATIENT = Limits(operation_ms=15_000, case_ms=40_000)
SENDS = 40
SEND_BYTES = 3_000
"""Two packets each, and a bit."""
over_the_way = partial(there_and_back, sends=SENDS, size=SEND_BYTES, limits=PATIENT)

SHORT_MS = 400
BROKER_KEEP_ALIVE_MS = 500
LONGER_MS = 1_600
"""Three keep-alive intervals of that broker."""


def partitioned(
    words: str, title: str, requirements: tuple[str, ...], action: Partition, for_ms: int, *more: Fault, **fields: Any
) -> Case:
    """Sends before a partition, sends into it, and sends when it is over."""
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.wait_ops(plan.send(producer))
    begins = plan.last
    plan.wait_fired(0)
    plan.send(producer, 5)
    plan.wait_ops()
    plan.wait_ops(plan.send(producer))
    return plan.case(
        words,
        title,
        requirements,
        capabilities=("producer",),
        faults=(Fault(trigger=AfterStep(begins), action=action, until=Until(after_ms=for_ms)), *more),
        limits=PATIENT,
        **fields,
    )


CASES = (
    over_the_way(
        "ordering/lossy-network",
        "Three packets of a hundred are lost, each way",
        ("ordering.keeps-send-order", "ordering.callbacks-in-send-order"),
        Shape(loss=0.03, delay_ms=2),
    ),
    over_the_way(
        "ordering/packets-reordered-and-duplicated",
        "A packet in ten is overtaken, another comes twice, each way",
        ("ordering.keeps-send-order", "ordering.delivers-in-message-id-order"),
        Shape(reorder=0.1, duplicate=0.1, delay_ms=2),
    ),
    over_the_way(
        "robustness/corrupt-packets",
        "A bit of three packets in a hundred flips, each way, and checksums of TCP notice",
        ("robustness.calls-do-not-hang", "ordering.keeps-send-order"),
        Shape(corrupt=0.03),
    ),
    over_the_way(
        "connection/distant-network",
        "A packet takes 50 ms, give or take 20, each way",
        ("connection.handshake-first",),
        Shape(delay_ms=50, jitter_ms=20),
    ),
    over_the_way(
        "flow/low-bandwidth-network",
        "250 kB a second, each way, for 120 kB",
        ("flow.permits-within-queue",),
        Shape(rate_kb_s=250),
        config={**EARLIEST, "receiver_queue_size": 4},
    ),
    partitioned(
        "ordering/short-network-partition",
        "No packet passes for a while, and then the connection goes on",
        ("ordering.sequence-ids-increase-by-one",),
        Partition(),
        SHORT_MS,
    ),
    partitioned(
        "resend/network-partition-beyond-keep-alive",
        "No packet comes from the broker, no receipt either, until it has given the connection up",
        ("resend.pending-sends-resent",),
        Partition(direction=Direction.TO_CLIENT),
        LONGER_MS,
        lost_receipts(5, k=2),
        topology=Topology(keep_alive_ms=BROKER_KEEP_ALIVE_MS),
    ),
)
