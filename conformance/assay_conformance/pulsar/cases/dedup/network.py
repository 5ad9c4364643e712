"""Deduplication over a network that is late, slow, lossy or interrupted."""

from __future__ import annotations

from assay_conformance.model.fault import Fault
from assay_conformance.model.outside import ResetPeer
from assay_conformance.pulsar.cases._toxics import ALL_LOST, SOON, TO_BROKER, interrupted
from assay_conformance.pulsar.cases.dedup.client import DEDUPLICATED, NAMED

CASES = (
    interrupted(
        "dedup/effectively-once-through-resets",
        "The connection is reset while sends are pending, and so is each new one for a while; every send is stored "
        "once",
        ("dedup.effectively-once",),
        Fault(trigger=ALL_LOST, action=ResetPeer(direction=TO_BROKER), until=SOON),
        topology=DEDUPLICATED,
        producer=NAMED,
    ),
)
