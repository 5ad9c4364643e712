"""Cases for receipts that name what was not sent."""

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
    plan.wait_ms(150)  # who leaves now does not leave because it is closed
    return plan.case(
        "resend/receipt-with-other-highest-id",
        "The receipt of a batch with the ids 0 to 2 says that it goes up to 7",
        ("resend.checks-highest-sequence-id",),
        topology=DEDUPLICATED,
        producer={**LONG, **NAMED},
        faults=(Fault(trigger=down("SEND_RECEIPT"), action=Rewrite({"highest_sequence_id": 7})),),
        limits=QUICK,
    )
