"""Robustness, with the network in between late, slow, lossy or cut off."""

from __future__ import annotations

from assay_conformance.model.outside import Shape, Slicer
from assay_conformance.pulsar.cases._packets import with_packet_faults
from assay_conformance.pulsar.cases._toxics import TO_BROKER, with_toxics

CASES = (
    with_packet_faults(
        "robustness/corrupt-packets",
        "A bit of three packets in a hundred flips, each way, and checksums of TCP notice",
        ("robustness.calls-do-not-hang", "ordering.keeps-send-order"),
        Shape(corrupt=0.03),
    ),
    with_toxics(
        "robustness/small-segments",
        "Bytes come in pieces of one to five, and go so",
        ("robustness.any-segmentation",),
        Slicer(average_bytes=3, variation_bytes=2, delay_us=100),
        Slicer(average_bytes=3, variation_bytes=2, delay_us=100, direction=TO_BROKER),
        size=64,
    ),
)
