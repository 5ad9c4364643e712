"""Batches at their edges: of one message, and beyond what the broker takes."""

from __future__ import annotations

from assay_conformance.cases.batching import LONG
from assay_conformance.cases.build import EARLIEST, Schedule, down
from assay_conformance.cases.chunking import LIMIT_BYTES, RECEIVE_MS, SMALL
from assay_conformance.cases.dedup import DEDUPLICATED, NAMED
from assay_conformance.cases.resend import QUICK
from assay_conformance.cases.stored import batch, plain
from assay_conformance.model.case import Case, Isolation
from assay_conformance.model.fault import Fault, Rewrite


def batch_of_one() -> Case:
    plan = Schedule()
    plan.consumer_of([batch([0]), plain(1), batch([2, 3]), batch([4])], receives=5, timeout_ms=RECEIVE_MS)
    plan.wait_ops()
    return plan.case(
        "batching/batch-of-one",
        "A batch of one message, a message that is no batch, a batch of two, and one of one again",
        ("batching.batch-of-one-is-unpacked",),
        consumer=EARLIEST,
    )


def oversize_batch() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    with plan.held():
        plan.send(producer, 2)
        plan.flush(producer)
        plan.wait_sends(1)
        plan.wait_ops(plan.send(producer, 4, size=LIMIT_BYTES // 3), plan.flush(producer), deadline_ms=500)
    plan.send(producer, 2)
    plan.flush(producer)
    plan.wait_ops()
    return plan.case(
        "batching/oversize-batch",
        "While a batch waits for its receipt, four messages fill one that is too large, and two more follow",
        ("batching.oversize-batch-fails-alone",),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer=LONG,
        limits=QUICK,
    )


def receipt_with_other_highest_id() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
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


CASES = (batch_of_one(), oversize_batch(), receipt_with_other_highest_id())
