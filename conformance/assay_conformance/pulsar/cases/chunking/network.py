"""Chunked messages over a network that is late, slow, lossy or interrupted."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, Schedule, down, up
from assay_conformance.cases.ways import FROM_THE_START
from assay_conformance.model.case import Case, Isolation
from assay_conformance.model.fault import Drop, Fault, Hold, Scope, Until
from assay_conformance.model.outside import LimitData
from assay_conformance.pulsar.cases._toxics import PATIENT, TO_BROKER
from assay_conformance.pulsar.cases.chunking.messages import CHUNKING, LARGE_BYTES, SMALL


def chunks_without_their_end() -> Case:
    """End the connection after so many bytes that the third chunk is incomplete.

    Receipts before that are lost, so that the resend does not depend on which of them came in time. It begins when the
    network works again.
    """
    plan, consumer = Schedule.with_consumer()
    producer = plan.producer(plan.client())
    send = plan.send(producer, size=LARGE_BYTES)
    plan.wait_healed(1)
    plan.wait_fired(2)
    whole = plan.last
    plan.wait_ops(send)
    plan.receive(consumer, 1, timeout_ms=4_000)
    plan.wait_ops()
    return plan.case(
        "chunking/connection-ends-inside-a-chunk",
        "The producer's connection ends in the middle of the third of four chunks",
        ("chunking.survives-reconnect",),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer=CHUNKING,
        consumer=EARLIEST,
        faults=(
            Fault(trigger=down("SEND_RECEIPT", times=2), action=Drop(), scope=Scope(session=0), optional=True),
            Fault(
                trigger=FROM_THE_START,
                action=LimitData(limit_bytes=40_000, direction=TO_BROKER),
                until=Until(frame=up("PRODUCER", k=2)),
            ),
            Fault(trigger=down("PRODUCER_SUCCESS", k=2), action=Hold(), until=Until(step=whole)),
        ),
        limits=PATIENT,
    )
