"""Acknowledgment: what the application settled reaches the broker, whole, grouped, and in time."""

from __future__ import annotations

from assay_conformance.checks.ack.awaited import NoReceiptFromOldBroker, ReceiptEndsCall, RefusedReceiptFails
from assay_conformance.checks.ack.batches import WholeBatchOnly
from assay_conformance.checks.ack.cumulative import CumulativeNamesOne, GreatestOnly, NoneOnShared
from assay_conformance.checks.ack.foreign import ForeignRefused
from assay_conformance.checks.ack.grouping import FlushedInTime
from assay_conformance.checks.ack.indexes import FilteredNotDelivered, IndexBits
from assay_conformance.checks.ack.inside_batch import InsideBatch
from assay_conformance.checks.ack.keeping import FlushedOnClose, KeptWhileAway
from assay_conformance.checks.ack.naming import SettlesWhatItNames
from assay_conformance.checks.ack.redelivered import HeldNotDelivered
from assay_conformance.checks.ack.repeated import TakesWhatIsSettled
from assay_conformance.checks.ack.surviving import AcksSurviveLoad
from assay_conformance.checks.ack.together import OneCommandAFlush
from assay_conformance.checks.ack.urgent import AtOnceWithoutInterval, FullGroupAtOnce

__all__ = [
    "AcksSurviveLoad",
    "AtOnceWithoutInterval",
    "CumulativeNamesOne",
    "FilteredNotDelivered",
    "FlushedInTime",
    "FlushedOnClose",
    "ForeignRefused",
    "FullGroupAtOnce",
    "GreatestOnly",
    "HeldNotDelivered",
    "IndexBits",
    "InsideBatch",
    "KeptWhileAway",
    "NoReceiptFromOldBroker",
    "NoneOnShared",
    "OneCommandAFlush",
    "ReceiptEndsCall",
    "RefusedReceiptFails",
    "SettlesWhatItNames",
    "TakesWhatIsSettled",
    "WholeBatchOnly",
]
