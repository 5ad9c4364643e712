"""What the parameter template of `assay tune` promises: when batches are sent, and how much they save."""

from __future__ import annotations

from assay_conformance.cases.build import DEFAULT_PAYLOAD_BYTES, Schedule
from assay_conformance.model.case import Case, Config, Limits
from assay_conformance.pulsar.cases.batching.closing import FAR
from assay_conformance.tuning import JAVA_DEFAULTS, MACHINE_CLASSES_MB, Load, Settings, settings_of

TRICKLE_MS = 5
PROPERTIES = {"shared": "what all messages have in common, and a batch has to hold only once " * 4}
"""Payloads are random and do not compress; only what surrounds them does."""

PENDING = 2_000
LOAD = Load(
    partitions=1,
    message_bytes=DEFAULT_PAYLOAD_BYTES,
    memory_mb=MACHINE_CLASSES_MB["small"],
    max_pending=PENDING,
    delay_ms=40,
)
"""`delay_ms` is within the template's range, and collects eight messages of the trickle."""


def _limits(settings: Settings) -> Config:
    return {
        "batching": bool(settings.batching),
        "batching_max_messages": settings.batching_max_messages,
        "batching_max_bytes": settings.batching_max_bytes,
        "batching_max_publish_delay_ms": settings.batching_max_publish_delay_ms,
    }


TEMPLATE = _limits(settings_of(LOAD))
DEFAULTS: Config = {"batching": True, **JAVA_DEFAULTS}


def queue_of_half_a_batch() -> Case:
    """Send with the figures that the template's authors used."""
    plan, producer = Schedule.with_producer()
    with plan.held():
        plan.send(producer, 1_200)
        plan.wait_sends(1)
        plan.wait_ms(250)
    plan.wait_ops()
    return plan.case(
        "batching/queue-of-half-a-batch",
        "1,200 messages through a blocking queue of 500, in batches of 1,000 or 400 ms; the first receipts take 250 ms",
        ("batching.small-queue-does-not-stall",),
        producer={
            **FAR,
            "batching_max_publish_delay_ms": 400,
            "max_pending_messages": 500,
            "block_if_queue_full": True,
        },
        limits=Limits(operation_ms=6_000, case_ms=20_000),
    )


def fills_while_previous_pending() -> Case:
    plan, producer = Schedule.with_producer()
    with plan.held():
        plan.send(producer, 40)
        plan.wait_sends(1)
        plan.wait_ms(400)
    plan.wait_ops()
    return plan.case(
        "batching/fills-while-previous-pending",
        "Forty messages through a blocking queue of twenty, in batches of ten; the first receipts take 400 ms",
        ("batching.fills-while-previous-pending",),
        producer={**FAR, "batching_max_messages": 10, "max_pending_messages": 20, "block_if_queue_full": True},
    )


def frames_of_two_bursts() -> Case:
    plan, producer = Schedule.with_producer()
    for count in (60, 45):
        plan.send(producer, count)
        plan.flush(producer)
        plan.wait_ops()
    return plan.case(
        "batching/frames-of-two-bursts",
        "Sixty messages at once and forty-five more, in batches of ten",
        ("batching.burst-fills-batches",),
        producer={**FAR, "batching_max_messages": 10},
    )


def bytes_by_batch_size(codec: str) -> Case:
    plan, client = Schedule.with_client()
    producers = [plan.producer(client, batching_max_messages=size) for size in (2, 5, 10, 50)]
    for producer in producers:
        plan.send(producer, 50, properties=PROPERTIES)
    plan.wait_ops()
    return plan.case(
        f"batching/bytes-by-batch-size-{codec.lower()}",
        f"Fifty similar messages in batches of 2, 5, 10 and 50, compressed by {codec}",
        ("batching.larger-batches-save-bytes",),
        capabilities=("compression",),
        producer={**FAR, "compression": codec},
    )


def trickle() -> Case:
    """Send a message of each producer in turn, so slowly that only a batch delay collects several."""
    plan, client = Schedule.with_client()
    handles = [_batching(plan, client, limits) for limits in (DEFAULTS, TEMPLATE)]
    for _ in range(120):
        for handle in handles:
            plan.send(handle, properties=PROPERTIES)
        plan.wait_ms(TRICKLE_MS)
    plan.wait_ops()
    return plan.case(
        "batching/trickle",
        f"120 messages {TRICKLE_MS} ms apart, of a producer with a client's defaults and of one with the template",
        ("batching.partial-batch-needs-reason", "batching.wider-limits-fill-batches"),
        capabilities=("compression",),
        producer={"compression": "ZLIB", "max_pending_messages": PENDING},
    )


def _batching(plan: Schedule, client: int, limits: Config) -> int:
    opened = plan.agent("open_producer", {"client": client, "topic": "t", "config": limits})
    plan.wait_ops(opened)
    return opened


CASES = (
    queue_of_half_a_batch(),
    fills_while_previous_pending(),
    frames_of_two_bursts(),
    *(bytes_by_batch_size(codec) for codec in ("LZ4", "ZLIB", "ZSTD", "SNAPPY")),
    trickle(),
)
