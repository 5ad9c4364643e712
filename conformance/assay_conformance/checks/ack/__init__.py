"""Acknowledgment: what the application settled reaches the broker, whole, grouped, and in time."""

from __future__ import annotations

from assay_conformance.checks.ack.batches import WholeBatchOnly
from assay_conformance.checks.ack.cumulative import GreatestOnly
from assay_conformance.checks.ack.grouping import FlushedInTime
from assay_conformance.checks.ack.keeping import FlushedOnClose

__all__ = ["FlushedInTime", "FlushedOnClose", "GreatestOnly", "WholeBatchOnly"]
