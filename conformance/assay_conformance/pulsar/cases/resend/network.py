"""Resends over a network that is late, slow, lossy or interrupted."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.ways import FROM_THE_START, always
from assay_conformance.model.case import Case, Topology
from assay_conformance.model.fault import Cut, CutHow, Direction, Fault, Until
from assay_conformance.model.outside import Disable, LimitData, Partition, ResetPeer, SlowClose, Timeout
from assay_conformance.pulsar.cases._packets import partitioned
from assay_conformance.pulsar.cases._toxics import ALL_LOST, PATIENT, SEND_BYTES, SENDS, SOON, TO_BROKER, interrupted
from assay_conformance.pulsar.cases.resend.connections import lost_before_cut, lost_receipts

BROKER_KEEP_ALIVE_MS = 500
LONGER_MS = 1_600
"""Three keep-alive intervals of that broker."""
LATER = Until(after_ms=1_000)
RESENT = ("resend.pending-sends-resent",)


def sends_without_their_end() -> Case:
    """Drop the receipts of sends that arrived, by a fault, or by the end of the connection if that comes first."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.send(producer, SENDS, size=SEND_BYTES)
    plan.wait_ops()
    return plan.case(
        "resend/connection-ends-inside-a-send",
        "After 9 kB each connection ends in the middle of a SEND",
        RESENT,
        capabilities=("producer",),
        faults=(
            lost_before_cut(3, k=2),
            Fault(trigger=FROM_THE_START, action=LimitData(limit_bytes=9_000, direction=TO_BROKER), until=LATER),
        ),
        limits=PATIENT,
    )


CASES = (
    partitioned(
        "resend/network-partition-beyond-keep-alive",
        "No packet comes from the broker, and so no receipt, until the broker has given up the connection",
        ("resend.pending-sends-resent",),
        Partition(direction=Direction.TO_CLIENT),
        LONGER_MS,
        lost_receipts(5, k=2),
        topology=Topology(keep_alive_ms=BROKER_KEEP_ALIVE_MS),
    ),
    sends_without_their_end(),
    interrupted(
        "resend/connection-reset",
        "The connection is reset with sends in flight, and so is each new one for a while",
        RESENT,
        Fault(trigger=ALL_LOST, action=ResetPeer(direction=TO_BROKER), until=SOON),
    ),
    interrupted(
        "resend/network-down",
        "The connection ends with sends in flight, and no port of the broker listens for a while",
        RESENT,
        Fault(trigger=ALL_LOST, action=Disable(), until=SOON),
    ),
    interrupted(
        "resend/network-silent-then-closed",
        "No byte comes from the broker for a while, and then the connection ends",
        RESENT,
        Fault(trigger=ALL_LOST, action=Timeout(timeout_ms=0), until=SOON),
    ),
    interrupted(
        "resend/network-timeout",
        "No byte reaches the broker, and each connection ends after 150 ms for a while",
        RESENT,
        Fault(trigger=ALL_LOST, action=Timeout(timeout_ms=150, direction=TO_BROKER), until=SOON),
    ),
    interrupted(
        "resend/disconnect-noticed-late",
        "The broker ends the connection, and the client notices it 250 ms later",
        RESENT,
        *always(SlowClose(delay_ms=250)),
        Fault(trigger=ALL_LOST, action=Cut(how=CutHow.FIN)),
    ),
)
