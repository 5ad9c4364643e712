"""Sequence ids that the application uses again, together with new ones."""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Case
from assay_conformance.pulsar.cases.batching.closing import LONG
from assay_conformance.pulsar.cases.dedup.client import DEDUPLICATED, NAMED
from assay_conformance.pulsar.cases.resend.connections import QUICK


def _send_ids(plan: Schedule, producer: int, ids: Sequence[int]) -> None:
    """Send everything in one batch, if the client batches, and wait for the receipts."""
    sent = plan.agent("send", {"producer": producer, "messages": [{"sequence_id": id} for id in ids]})
    plan.flush(producer)
    plan.wait_ops(sent)


def old_and_new_ids_at_once() -> Case:
    plan, producer = Schedule.with_producer()
    _send_ids(plan, producer, (10, 11, 12))
    _send_ids(plan, producer, (11, 12, 13, 14))
    return plan.case(
        "dedup/old-and-new-ids-at-once",
        "A batch with the ids 10 to 12 is stored, and messages with the ids 11 to 14 are sent at once",
        ("dedup.old-and-new-ids-in-separate-batches",),
        topology=DEDUPLICATED,
        producer={**NAMED, **LONG},
        limits=QUICK,
    )


def reopened_and_sends_old_ids() -> Case:
    """Send old sequence ids, as an application does that saves its position less often than it sends."""
    plan, client = Schedule.with_client()
    first = plan.producer(client, batching=False)
    _send_ids(plan, first, (0, 1, 2))
    plan.wait_ops(plan.close(first))
    _send_ids(plan, plan.producer(client), (1, 2, 3, 4))
    return plan.case(
        "dedup/reopened-and-sends-old-ids",
        "An application that has sent up to id 2 opens its producer again, and sends the ids 1 to 4",
        ("dedup.old-and-new-ids-in-separate-batches",),
        capabilities=("dedup_resume",),
        topology=DEDUPLICATED,
        producer={**NAMED, **LONG},
        limits=QUICK,
    )
