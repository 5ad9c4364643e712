"""Deduplication: stored sends whose receipts were lost are sent again, and producers register again under their
name."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, down, up
from assay_conformance.model.case import Case, Config, Topic, Topology
from assay_conformance.model.fault import Cut, Direction, Fault, Rewrite
from assay_conformance.pulsar.cases.resend.connections import QUICK, cut_at_send, lost_before_cut, lost_receipts

DEDUPLICATED = Topology(topics=(Topic(name="t", deduplication=True),))
NAMED: Config = {"producer_name": "orders"}
CUT_AT_THIRD_RECEIPT = Fault(trigger=down("SEND_RECEIPT", k=3), action=Cut(before=True))
"""The time in which all three are stored, whatever the broker's latency."""


def duplicate_is_answered() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 3)
    plan.wait_ops()
    return plan.case(
        "dedup/duplicate-is-answered",
        "Three stored sends are sent again, and the broker answers without storing them",
        ("dedup.duplicate-not-stored",),
        capabilities=("resend_pending",),
        topology=DEDUPLICATED,
        faults=(lost_receipts(2), CUT_AT_THIRD_RECEIPT),
        limits=QUICK,
    )


def duplicate_receipt_completes() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 3)
    plan.wait_ops()
    return plan.case(
        "dedup/duplicate-receipt-completes",
        "Three sends get the receipt of a duplicate, and succeed",
        ("dedup.duplicate-receipt-completes",),
        capabilities=("resend_pending",),
        topology=DEDUPLICATED,
        faults=(lost_receipts(2), CUT_AT_THIRD_RECEIPT),
        limits=QUICK,
    )


def batches_through_cuts() -> Case:
    """Lose the receipt of a batch: it is sent again, and sends made meanwhile follow it."""
    plan, producer = Schedule.with_producer()
    for _ in range(6):
        plan.send(producer, 10)
    plan.wait_ops()
    return plan.case(
        "dedup/batches-through-cuts",
        "Sixty messages are sent in batches of three, and the connection is lost before three receipts",
        ("dedup.effectively-once",),
        capabilities=("producer", "resend_pending", "batching"),
        topology=DEDUPLICATED,
        producer={**NAMED, "batching": True, "batching_max_messages": 3, "batching_max_publish_delay_ms": 5},
        faults=tuple(Fault(trigger=down("SEND_RECEIPT", k=k), action=Cut(before=True)) for k in (2, 5, 9)),
    )


def continues_after_the_brokers_last_id() -> Case:
    """Alter the last sequence id in PRODUCER_SUCCESS, on a topic without deduplication."""
    plan, producer = Schedule.with_producer()
    plan.send(producer, 2)
    plan.wait_ops()
    return plan.case(
        "dedup/continues-after-the-brokers-last-id",
        "PRODUCER_SUCCESS carries 41 as the last sequence id",
        ("dedup.resumes-after-last-sequence-id",),
        producer=NAMED,
        faults=(Fault(trigger=down("PRODUCER_SUCCESS"), action=Rewrite({"last_sequence_id": 41})),),
    )


def reopened_producer() -> Case:
    plan, client = Schedule.with_client()
    first = plan.producer(client)
    plan.wait_ops(plan.send(first, 3))
    plan.wait_ops(plan.close(first))
    plan.wait_ops(plan.send(plan.producer(client), 2))
    return plan.case(
        "dedup/reopened-producer",
        "A producer is closed and opened again under its name, and continues its sequence ids",
        ("dedup.resumes-after-last-sequence-id",),
        topology=DEDUPLICATED,
        producer=NAMED,
    )


def initial_sequence_id() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 2))
    return plan.case(
        "dedup/initial-sequence-id",
        "With an initial sequence id of 100 the first message gets 101",
        ("dedup.resumes-after-last-sequence-id",),
        capabilities=("explicit_sequence_id",),
        producer={**NAMED, "initial_sequence_id": 100},
    )


def initial_sequence_id_zero() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 2))
    return plan.case(
        "dedup/initial-sequence-id-zero",
        "With an initial sequence id of 0 the first message gets 1",
        ("dedup.resumes-after-last-sequence-id",),
        capabilities=("explicit_sequence_id",),
        producer={**NAMED, "initial_sequence_id": 0},
    )


def duplicate_during_slow_write() -> Case:
    """Lose the connection while two sends wait for the store; both are sent again before they are stored."""
    plan, producer = Schedule.with_producer()
    with plan.held():
        plan.send(producer, 2)
        plan.wait_frame("SEND_ERROR", Direction.TO_CLIENT)
    plan.wait_ops()
    return plan.case(
        "dedup/duplicate-during-slow-write",
        "Two sends are sent again before they are stored, and are refused until they are",
        ("dedup.pending-duplicate-rejected",),
        capabilities=("resend_pending",),
        topology=DEDUPLICATED,
        producer=NAMED,
        faults=(cut_at_send(2),),
        limits=QUICK,
    )


def last_sequence_id_reported() -> Case:
    plan, client = Schedule.with_client()
    first = plan.producer(client)
    plan.wait_ops(plan.send(first, 3))
    plan.wait_ops(plan.close(first))
    plan.wait_ops(plan.close(plan.producer(client, producer_name="others")))
    plan.producer(client)
    return plan.case(
        "dedup/last-sequence-id-reported",
        "Two producer names are opened: one that has sent three messages, and one that has sent none",
        ("dedup.reports-last-sequence-id",),
        topology=DEDUPLICATED,
        producer=NAMED,
    )


def own_numbers(last_id: int) -> Case:
    """Alter the last sequence id in PRODUCER_SUCCESS, so that it differs from the producer's own."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 3))
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.send(producer, 2))
    return plan.case(
        f"dedup/reconnect-with-last-sequence-id-{last_id}",
        f"Four messages are sent, PRODUCER_SUCCESS then carries {last_id} as the last sequence id, and the next id is "
        "4",
        ("dedup.reconnect-keeps-numbering",),
        faults=(
            cut_at_send(4),
            Fault(trigger=down("PRODUCER_SUCCESS", k=2), action=Rewrite({"last_sequence_id": last_id})),
        ),
        limits=QUICK,
    )


def effectively_once() -> Case:
    """Lose the receipts of three stored sends; send two of them again before the connection is lost once more."""
    plan, producer = Schedule.with_producer()
    plan.send(producer, 3)
    plan.wait_ops()
    return plan.case(
        "dedup/effectively-once",
        "Two connections are lost, and each of three messages is stored once",
        ("dedup.effectively-once",),
        topology=DEDUPLICATED,
        producer=NAMED,
        faults=(lost_before_cut(2), cut_at_send(3), cut_at_send(5)),
        limits=QUICK,
    )


def effectively_once_after_an_early_reconnect() -> Case:
    """Register again before anything is stored: later sends must not look like duplicates."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 3))
    plan.wait_ops(plan.send(producer, 2))
    return plan.case(
        "dedup/effectively-once-after-an-early-reconnect",
        "The connection is lost at the very first SEND, and later messages are stored as well",
        ("dedup.effectively-once",),
        topology=DEDUPLICATED,
        producer=NAMED,
        faults=(Fault(trigger=up("SEND"), action=Cut(before=True)),),
        limits=QUICK,
    )


def effectively_once_in_batches() -> Case:
    plan, producer = Schedule.with_producer()
    for _ in range(2):
        plan.send(producer, 3)
        plan.flush(producer)
    plan.wait_ops()
    return plan.case(
        "dedup/effectively-once-in-batches",
        "The receipts of two batches are lost with the connection, and each message is stored once",
        ("dedup.effectively-once",),
        capabilities=("batching",),
        topology=DEDUPLICATED,
        producer={**NAMED, "batching": True, "batching_max_publish_delay_ms": 500},
        faults=(lost_before_cut(1), cut_at_send(2)),
        limits=QUICK,
    )


CASES = (
    duplicate_is_answered(),
    duplicate_receipt_completes(),
    batches_through_cuts(),
    continues_after_the_brokers_last_id(),
    reopened_producer(),
    initial_sequence_id(),
    initial_sequence_id_zero(),
    duplicate_during_slow_write(),
    last_sequence_id_reported(),
    own_numbers(1),
    own_numbers(41),
    effectively_once(),
    effectively_once_after_an_early_reconnect(),
    effectively_once_in_batches(),
)
