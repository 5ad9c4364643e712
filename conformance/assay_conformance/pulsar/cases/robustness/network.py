"""Robustness over a network that is late, slow, lossy or interrupted."""

from __future__ import annotations

from assay_conformance.model.outside import Shape, Slicer
from assay_conformance.pulsar.cases._packets import with_packet_faults
from assay_conformance.pulsar.cases._toxics import TO_BROKER, with_toxics

CASES = (
    with_packet_faults(
        "robustness/corrupt-packets",
        "A bit of three packets in a hundred is flipped, in each direction, which TCP checksums detect",
        ("robustness.calls-do-not-hang", "ordering.keeps-send-order"),
        Shape(corrupt=0.03),
    ),
    with_toxics(
        "robustness/small-segments",
        "Bytes arrive in pieces of one to five, in each direction",
        ("robustness.any-segmentation",),
        Slicer(average_bytes=3, variation_bytes=2, delay_us=100),
        Slicer(average_bytes=3, variation_bytes=2, delay_us=100, direction=TO_BROKER),
        size=64,
    ),
)
