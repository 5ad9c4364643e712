"""Ordering over a network that is late, slow, lossy or interrupted."""

from __future__ import annotations

from assay_conformance.model.outside import Bandwidth, Latency, Partition, Shape
from assay_conformance.pulsar.cases._packets import partitioned, with_packet_faults
from assay_conformance.pulsar.cases._toxics import TO_BROKER, with_toxics

SHORT_MS = 400


CASES = (
    with_packet_faults(
        "ordering/lossy-network",
        "Three packets in a hundred are lost, in each direction",
        ("ordering.keeps-send-order", "ordering.callbacks-in-send-order"),
        Shape(loss=0.03, delay_ms=2),
    ),
    with_packet_faults(
        "ordering/packets-reordered-and-duplicated",
        "One packet in ten is overtaken and one in ten duplicated, in each direction",
        ("ordering.keeps-send-order", "ordering.delivers-in-message-id-order"),
        Shape(reorder=0.1, duplicate=0.1, delay_ms=2),
    ),
    partitioned(
        "ordering/short-network-partition",
        "No packet passes for a while, and then the connection continues",
        ("ordering.sequence-ids-increase-by-one",),
        Partition(),
        SHORT_MS,
    ),
    with_toxics(
        "ordering/receipts-with-jitter",
        "Bytes from the broker take 30 ms, give or take 25",
        ("ordering.callbacks-in-send-order", "ordering.keeps-send-order"),
        Latency(latency_ms=30, jitter_ms=25),
    ),
    with_toxics(
        "ordering/sends-with-jitter",
        "Bytes from the client take 30 ms, give or take 25",
        ("ordering.keeps-send-order", "ordering.sequence-ids-increase-by-one"),
        Latency(latency_ms=30, jitter_ms=25, direction=TO_BROKER),
    ),
    with_toxics(
        "ordering/low-bandwidth-to-broker",
        "The client can send 50 kB a second, and sends of half a second are pending",
        ("ordering.keeps-send-order",),
        Bandwidth(rate_kb_s=50, direction=TO_BROKER),
    ),
)
