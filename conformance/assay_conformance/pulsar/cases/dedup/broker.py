"""Deduplication in the broker: SENDs that no client writes by itself, and what is known after a topic is loaded
again."""

from __future__ import annotations

import msgspec

from assay_conformance.cases.build import Schedule, down, up
from assay_conformance.model.case import Case, Config, Isolation, Limits, Tier
from assay_conformance.model.fault import Fault, Rewrite
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.cases.chunking.messages import CHUNKING, LARGE_BYTES, LIMIT_BYTES
from assay_conformance.pulsar.cases.dedup.client import DEDUPLICATED, NAMED
from assay_conformance.pulsar.cases.resend.connections import QUICK, cut_at_send, lost_before_cut, lost_receipts

FORGOTTEN_MS = 84_000
"""A minute, a third of it until the next clean-up, and a margin for a busy machine."""

BATCHED: Config = {**NAMED, "batching": True, "batching_max_publish_delay_ms": 500}


def _says_ids(k: int, lowest: int, highest: int) -> Fault:
    """Return a fault that replaces the ids of the k-th SEND by these."""
    ids = {"sequence_id": lowest, "highest_sequence_id": highest}
    return Fault(
        trigger=up("SEND", k=k), action=Rewrite({**ids, **{f"metadata.{name}": id for name, id in ids.items()}})
    )


def id_inside_a_batch() -> Case:
    """Send an id of a stored batch again. Clients write different ids for a batch, so a fault sets them."""
    plan, client = Schedule.with_client()
    batched = plan.producer(client, batching=True, batching_max_publish_delay_ms=500)
    sent = plan.send(batched, 4)
    plan.flush(batched)
    plan.wait_ops(sent)
    plan.wait_ops(plan.close(batched))
    plan.wait_ops(plan.send(plan.producer(client, initial_sequence_id=1)))
    return plan.case(
        "dedup/id-inside-a-batch",
        "A batch with the ids 0 to 3 is stored, and a message with id 2 arrives",
        ("dedup.records-highest-sequence-id",),
        capabilities=("batching", "explicit_sequence_id"),
        topology=DEDUPLICATED,
        producer=NAMED,
        faults=(_says_ids(1, 0, 3),),
        limits=QUICK,
    )


def sequence_gaps() -> Case:
    plan, producer = Schedule.with_producer()
    plan.agent("send", {"producer": producer, "messages": [{"sequence_id": id} for id in (3, 4, 9, 1_000)]})
    plan.wait_ops()
    return plan.case(
        "dedup/sequence-gaps",
        "Four messages with the ids 3, 4, 9 and 1000 are all stored",
        ("dedup.sequence-gaps-accepted",),
        topology=DEDUPLICATED,
        producer=NAMED,
        limits=QUICK,
    )


def batch_of_old_and_new() -> Case:
    """Send a batch of old and new ids; the client gets an answer with the ids that it wrote."""
    plan, producer = Schedule.with_producer()
    for count in (1, 3):
        sent = plan.send(producer, count)
        plan.flush(producer)
        plan.wait_ops(sent)
    return plan.case(
        "dedup/batch-of-old-and-new",
        "A message with id 0 is stored, and a batch with the ids 0 to 3 arrives",
        ("dedup.batch-judged-by-lowest-id",),
        capabilities=("batching",),
        topology=DEDUPLICATED,
        producer=BATCHED,
        faults=(
            _says_ids(2, 0, 3),
            Fault(trigger=down("SEND_RECEIPT", k=2), action=Rewrite({"sequence_id": 1})),
        ),
        limits=QUICK,
    )


def _called_marker(k: int, id: int, own: int) -> tuple[Fault, Fault]:
    """Return faults that make the k-th SEND, whose id is `own`, a marker with this id.

    The client gets an answer with the ids that it wrote.
    """
    marked = Rewrite({"sequence_id": id, "highest_sequence_id": id, "marker": True})
    answered = Rewrite({"sequence_id": own, "highest_sequence_id": own})
    return Fault(trigger=up("SEND", k=k), action=marked), Fault(trigger=down("SEND_RECEIPT", k=k), action=answered)


def markers() -> Case:
    plan, producer = Schedule.with_producer()
    for _ in range(4):
        plan.wait_ops(plan.send(producer))
    return plan.case(
        "dedup/markers",
        "The second of four messages becomes a marker with the id of the first, and the third a marker with id 50",
        ("dedup.markers-are-exempt",),
        topology=DEDUPLICATED,
        producer=NAMED,
        faults=(*_called_marker(2, 0, 1), *_called_marker(3, 50, 2)),
        limits=QUICK,
    )


def chunks_resent() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, size=LARGE_BYTES))
    return plan.case(
        "dedup/chunks-resent",
        "A message of four chunks is stored, its receipts are lost, and it is sent again",
        ("dedup.checks-last-chunk-only",),
        capabilities=("chunking_producer", "resend_pending"),
        topology=msgspec.structs.replace(DEDUPLICATED, max_message_bytes=LIMIT_BYTES),
        isolation=Isolation.OWN_PROCESS,
        producer={**CHUNKING, **NAMED},
        faults=(lost_before_cut(3), cut_at_send(4)),
        limits=QUICK,
    )


def failed_write() -> Case:
    plan, producer = Schedule.with_producer()
    plan.broker("hold_store", topic="t")
    plan.send(producer, 2)
    plan.wait_sends(2)
    plan.broker("fail_store", topic="t")
    plan.wait_ops()
    return plan.case(
        "dedup/failed-write",
        "The broker fails to store two sends, which are sent again",
        ("dedup.accepts-retry-of-failed-write",),
        capabilities=("resend_pending",),
        topology=DEDUPLICATED,
        producer=NAMED,
        limits=QUICK,
    )


def duplicate_after_an_unload() -> Case:
    """Send a duplicate after an unload: a broker that loads a topic restores its last sequence ids from what is
    stored."""
    plan, producer = Schedule.with_producer()
    plan.send(producer, 3)
    plan.wait_receipts(3)
    plan.broker("unload", topic="t")
    plan.wait_ops()
    return plan.case(
        "dedup/duplicate-after-an-unload",
        "The receipts of three stored sends are lost, and they are sent again after their topic was loaded again",
        ("dedup.survives-unload",),
        capabilities=("resend_pending",),
        topology=DEDUPLICATED,
        faults=(lost_receipts(3),),
        limits=QUICK,
    )


def last_sequence_id_after_unload() -> Case:
    plan, client = Schedule.with_client()
    first = plan.producer(client)
    plan.wait_ops(plan.send(first, 3))
    plan.wait_ops(plan.close(first))
    plan.broker("unload", topic="t")
    plan.producer(client)
    return plan.case(
        "dedup/last-sequence-id-after-unload",
        "A producer name that has sent three messages is opened again after its topic was loaded again",
        ("dedup.survives-unload",),
        topology=DEDUPLICATED,
        producer=NAMED,
    )


def restored_from_snapshot() -> Case:
    """Send nothing of the first name after the snapshot that the broker writes after two entries."""
    plan, client = Schedule.with_client()
    for name, count in (("orders", 2), ("bills", 1)):
        producer = plan.producer(client, producer_name=name)
        plan.wait_ops(plan.send(producer, count))
        plan.wait_ops(plan.close(producer))
    plan.broker("restart")
    again = plan.client()
    for name in ("orders", "bills"):
        plan.producer(again, producer_name=name)
    return plan.case(
        "dedup/restored-from-snapshot",
        "A broker crashes; one producer name is in its snapshot, another in an entry after it",
        ("dedup.survives-unload",),
        topology=msgspec.structs.replace(DEDUPLICATED, settings=BrokerSettings(dedup_snapshot_entries=2)),
    )


def more_producers_than_snapshot_holds() -> Case:
    """Send, after the last messages of the first two, entries for two snapshots, which hold one name each."""
    plan, client = Schedule.with_client()
    for name, count in (("first", 1), ("second", 1), ("third", 4)):
        producer = plan.producer(client, producer_name=name)
        for _ in range(count):
            plan.wait_ops(plan.send(producer))
        plan.wait_ops(plan.close(producer))
    plan.broker("restart")
    again = plan.client()
    for name in ("first", "second"):
        plan.producer(again, producer_name=name)
    return plan.case(
        "dedup/more-producers-than-snapshot-holds",
        "A broker crashes whose snapshot holds one producer name, and two names that sent long before register again",
        ("dedup.max-producers-in-snapshot",),
        topology=msgspec.structs.replace(
            DEDUPLICATED, settings=BrokerSettings(dedup_snapshot_entries=2, dedup_max_producers=1)
        ),
    )


def duplicate_at_another_broker() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 3)
    plan.wait_receipts(3)
    plan.broker("unload", topic="t", broker=1)
    plan.wait_ops()
    return plan.case(
        "dedup/duplicate-at-another-broker",
        "The receipts of three stored sends are lost, and they are sent again to the broker that their topic was "
        "moved to",
        ("dedup.survives-unload",),
        capabilities=("resend_pending",),
        topology=msgspec.structs.replace(DEDUPLICATED, brokers=2),
        faults=(lost_receipts(3),),
        limits=QUICK,
    )


def inactive_producers() -> Case:
    """Open two names again after the time-out: one had a producer that sent nothing, the other had none."""
    plan, client = Schedule.with_client()
    silent, gone = (plan.producer(client, producer_name=name) for name in ("silent", "gone"))
    plan.wait_ops(plan.send(silent), plan.send(gone))
    plan.wait_ops(plan.close(gone))
    plan.wait_ms(FORGOTTEN_MS)
    plan.wait_ops(plan.close(silent))
    for name in ("silent", "gone"):
        plan.wait_ops(plan.send(plan.producer(client, producer_name=name)))
    return plan.case(
        "dedup/inactive-producers",
        "A minute after their last message one producer name still has its producer, and another has none",
        ("dedup.forgets-inactive-producers",),
        topology=msgspec.structs.replace(DEDUPLICATED, settings=BrokerSettings(dedup_idle_minutes=1)),
        tier=Tier.FULL,
        limits=Limits(case_ms=FORGOTTEN_MS + 60_000, least_wall_ms=FORGOTTEN_MS),
    )


CASES = (
    sequence_gaps(),
    id_inside_a_batch(),
    batch_of_old_and_new(),
    markers(),
    chunks_resent(),
    failed_write(),
    duplicate_after_an_unload(),
    last_sequence_id_after_unload(),
    restored_from_snapshot(),
    more_producers_than_snapshot_holds(),
    duplicate_at_another_broker(),
    inactive_producers(),
)
