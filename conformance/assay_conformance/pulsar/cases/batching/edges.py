"""Batches at their limits: of one message, and larger than the broker accepts."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, Schedule
from assay_conformance.cases.stored import batch, plain
from assay_conformance.model.case import Case, Isolation
from assay_conformance.pulsar.cases.batching.closing import LONG
from assay_conformance.pulsar.cases.chunking.messages import LIMIT_BYTES, RECEIVE_MS, SMALL
from assay_conformance.pulsar.cases.resend.connections import QUICK


def batch_of_one() -> Case:
    plan = Schedule()
    plan.consumer_of([batch([0]), plain(1), batch([2, 3]), batch([4])], receives=5, timeout_ms=RECEIVE_MS)
    plan.wait_ops()
    return plan.case(
        "batching/batch-of-one",
        "A batch of one message, an unbatched message, a batch of two, and a batch of one again",
        ("batching.batch-of-one-is-unpacked",),
        consumer=EARLIEST,
    )


def flush_without_messages() -> Case:
    """Before the first message, after a batch, and after another flush."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.flush(producer))
    plan.send(producer, 3)
    plan.wait_ops(plan.flush(producer))
    plan.wait_ops(plan.flush(producer))
    plan.wait_ops(plan.send(producer), plan.flush(producer))
    return plan.case(
        "batching/flush-without-messages",
        "A producer is flushed before three messages, after them, once more, and after one message",
        ("batching.send-counts-messages",),
        producer=LONG,
        limits=QUICK,
    )


def oversize_batch() -> Case:
    plan, producer = Schedule.with_producer()
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
        "While a batch waits for its receipt, four messages fill a batch that is too large, and two more follow",
        ("batching.oversize-batch-fails-alone",),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer=LONG,
        limits=QUICK,
    )
