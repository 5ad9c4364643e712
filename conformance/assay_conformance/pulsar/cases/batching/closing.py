"""Batching. Each Case of a limit lets that limit close the batches, and keeps the two others out of reach."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, down
from assay_conformance.model.case import Case, Config, Limits
from assay_conformance.model.fault import AfterStep, Cut, Fault, Hold, Refuse, Until
from assay_conformance.pulsar.cases.compression import COMPRESSED_BYTES

FAR: Config = {
    "batching": True,
    "batching_max_messages": 1_000,
    "batching_max_bytes": 100_000,
    "batching_max_publish_delay_ms": 1_000,
}
REQUIREMENT = ("batching.closes-at-first-limit",)


def closes_by_count() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 6))
    return plan.case(
        "batching/closes-by-count",
        "Six messages are sent in batches of three",
        REQUIREMENT,
        producer={**FAR, "batching_max_messages": 3},
    )


def closes_by_bytes() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 8, size=400)
    plan.flush(producer)
    plan.wait_ops()
    return plan.case(
        "batching/closes-by-bytes",
        "Messages of 400 bytes are sent in batches of at most 1,000 bytes",
        REQUIREMENT,
        producer={**FAR, "batching_max_bytes": 1_000},
    )


def closes_by_delay() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 2))
    return plan.case(
        "batching/closes-by-delay",
        "Two messages that do not fill a batch are sent 100 ms after the first",
        REQUIREMENT,
        producer={**FAR, "batching_max_publish_delay_ms": 100},
    )


def larger_than_limit_alone() -> Case:
    """Send a message of more bytes than a batch is to have, and no other for several delays."""
    plan, producer = Schedule.with_producer()
    plan.send(producer, size=2_000)
    plan.wait_ms(600)
    plan.send(producer, size=2_000)
    plan.flush(producer)
    plan.wait_ops()
    return plan.case(
        "batching/larger-than-limit-alone",
        "A message of 2,000 bytes is sent alone, where a batch closes with 1,000 bytes or after 100 ms",
        REQUIREMENT,
        producer={**FAR, "batching_max_bytes": 1_000, "batching_max_publish_delay_ms": 100},
    )


LONG: Config = {**FAR, "batching_max_publish_delay_ms": 5_000}
"""A batch delay so long that only what the Case is about closes a batch."""

SHORT: Config = {**FAR, "batching_max_publish_delay_ms": 100}
QUICK = Limits(operation_ms=6_000, case_ms=20_000)


def delay_passes_in_an_outage() -> Case:
    """Send when no connection can be made, and let the batch delay pass; nothing but the delay closes the batch."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    sent = plan.last
    plan.wait_fired(1)
    plan.send(producer)
    plan.wait_ms(600)
    plan.heal(0)
    plan.wait_ms(2_500)
    plan.send(producer)
    plan.wait_ops()
    return plan.case(
        "batching/delay-passes-in-an-outage",
        "The batch delay of 100 ms passes while no connection can be made; another message follows long after the "
        "reconnect",
        REQUIREMENT,
        producer=SHORT,
        faults=(Fault(trigger=AfterStep(sent), action=Refuse()), Fault(trigger=AfterStep(sent), action=Cut())),
        limits=QUICK,
    )


def flush_closes_batch() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 3)
    plan.flush(producer)
    plan.wait_ops()
    return plan.case(
        "batching/flush-closes-batch",
        "Three messages wait in an open batch, and the producer is flushed",
        ("batching.flush-closes-batch",),
        producer=LONG,
    )


def sync_send_closes_batch() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 2)
    joins = plan.send(producer, mode="sync")
    plan.wait_fired(0)
    plan.wait_ops(joins, deadline_ms=300)  # the flush must not end yet
    quiet = plan.last
    plan.wait_ops()
    return plan.case(
        "batching/sync-send-closes-batch",
        "Two messages wait in an open batch, a synchronous send joins them, and its receipt takes 300 ms",
        ("batching.flush-closes-batch",),
        capabilities=("sync_send",),
        producer=LONG,
        faults=(Fault(trigger=down("SEND_RECEIPT"), action=Hold(), until=Until(step=quiet)),),
    )


def compressed_as_one(codec: str) -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 6, size=COMPRESSED_BYTES // 2))
    return plan.case(
        f"batching/compressed-by-{codec.lower()}",
        f"Two batches of three messages, compressed by {codec}",
        ("batching.compressed-as-one",),
        capabilities=("compression",),
        producer={**FAR, "batching_max_messages": 3, "compression": codec},
    )


def delayed_behind_batch() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 2)
    plan.send(producer, deliver_after_ms=1_000)
    plan.send(producer, 2)
    plan.wait_ops()
    return plan.case(
        "batching/delayed-behind-batch",
        "Two messages are in the open batch when a message with a delivery delay is sent, and two more follow",
        ("batching.delayed-not-batched",),
        capabilities=("delayed_delivery",),
        producer=SHORT,
    )


def receipt_completes_batch() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 4))
    return plan.case(
        "batching/receipt-completes-batch",
        "Two batches of two messages get their receipts",
        ("batching.succeeds-or-fails-as-one",),
        producer={**FAR, "batching_max_messages": 2},
    )


def timeout_fails_batch() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 3))
    return plan.case(
        "batching/timeout-fails-batch",
        "A batch of three messages gets no receipt within the send time-out of 500 ms",
        ("batching.succeeds-or-fails-as-one",),
        capabilities=("send_timeout",),
        producer={**FAR, "batching_max_messages": 3, "send_timeout_ms": 500},
        faults=(Fault(trigger=down("SEND_RECEIPT", times=0), action=Hold()),),
        limits=QUICK,
    )


def small_queue_does_not_stall() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 12)
    plan.wait_ops()
    return plan.case(
        "batching/small-queue-does-not-stall",
        "Twelve messages through a blocking queue of four, in batches of up to ten messages or 500 ms",
        ("batching.small-queue-does-not-stall",),
        producer={
            **FAR,
            "batching_max_publish_delay_ms": 500,
            "batching_max_messages": 10,
            "max_pending_messages": 4,
            "block_if_queue_full": True,
        },
        limits=QUICK,
    )


def sequence_ids_of_batches() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 6))
    return plan.case(
        "batching/sequence-ids-of-batches",
        "Two batches of three messages",
        ("batching.highest-sequence-id", "batching.lowest-sequence-id"),
        producer={**FAR, "batching_max_messages": 3},
    )


CASES = (
    closes_by_count(),
    closes_by_bytes(),
    larger_than_limit_alone(),
    closes_by_delay(),
    delay_passes_in_an_outage(),
    flush_closes_batch(),
    sync_send_closes_batch(),
    *(compressed_as_one(codec) for codec in ("LZ4", "ZLIB", "ZSTD", "SNAPPY")),
    delayed_behind_batch(),
    receipt_completes_batch(),
    timeout_fails_batch(),
    small_queue_does_not_stall(),
    sequence_ids_of_batches(),
)
