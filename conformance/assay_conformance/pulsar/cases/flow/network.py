"""Flow control, with the network in between late, slow, lossy or cut off."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST
from assay_conformance.model.outside import Bandwidth, Shape
from assay_conformance.pulsar.cases._packets import with_packet_faults
from assay_conformance.pulsar.cases._toxics import with_toxics

CASES = (
    with_packet_faults(
        "flow/low-bandwidth-network",
        "250 kB a second, each way, for 120 kB",
        ("flow.permits-within-queue",),
        Shape(rate_kb_s=250),
        config={**EARLIEST, "receiver_queue_size": 4},
    ),
    with_toxics(
        "flow/low-bandwidth-from-broker",
        "50 kB a second come from the broker",
        ("flow.permits-within-queue",),
        Bandwidth(rate_kb_s=50),
        config={**EARLIEST, "receiver_queue_size": 4},
    ),
)
