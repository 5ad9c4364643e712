"""Cases for receipts that name sequence ids that were not sent."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, down
from assay_conformance.model.case import Case
from assay_conformance.model.fault import Fault, Rewrite
from assay_conformance.pulsar.cases.batching.closing import LONG
from assay_conformance.pulsar.cases.dedup.client import DEDUPLICATED, NAMED
from assay_conformance.pulsar.cases.resend.connections import QUICK


def receipt_with_other_highest_id() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 3)
    plan.flush(producer)
    plan.wait_ops()
    plan.wait_ms(150)  # a client that closes its connection now does not do so because it is closed
    return plan.case(
        "resend/receipt-with-other-highest-id",
        "The receipt of a batch with the ids 0 to 2 names 7 as its highest sequence id",
        ("resend.checks-highest-sequence-id",),
        topology=DEDUPLICATED,
        producer={**LONG, **NAMED},
        faults=(Fault(trigger=down("SEND_RECEIPT"), action=Rewrite({"highest_sequence_id": 7})),),
        limits=QUICK,
    )
