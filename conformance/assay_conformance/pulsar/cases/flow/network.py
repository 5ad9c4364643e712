"""Flow control over a network that is late, slow, lossy or interrupted."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST
from assay_conformance.model.outside import Bandwidth, Shape
from assay_conformance.pulsar.cases._packets import with_packet_faults
from assay_conformance.pulsar.cases._toxics import with_toxics

CASES = (
    with_packet_faults(
        "flow/low-bandwidth-network",
        "120 kB are sent over a network with 250 kB a second in each direction",
        ("flow.permits-within-queue",),
        Shape(rate_kb_s=250),
        config={**EARLIEST, "receiver_queue_size": 4},
    ),
    with_toxics(
        "flow/low-bandwidth-from-broker",
        "The network carries 50 kB a second from the broker",
        ("flow.permits-within-queue",),
        Bandwidth(rate_kb_s=50),
        config={**EARLIEST, "receiver_queue_size": 4},
    ),
)
