"""Flow control: how many messages a consumer asks for and may hold, and how many a producer may have under way."""

from __future__ import annotations

from assay_conformance.checks.flow.across_partitions import AcrossPartitions
from assay_conformance.checks.flow.first_permits import FirstPermits
from assay_conformance.checks.flow.limits import BoundedMemory, BoundedPending, FullQueue
from assay_conformance.checks.flow.permits import EntriesWhole, HalfQueue, RestartsAfterReconnect, WithinQueue
from assay_conformance.checks.flow.returned_permits import DroppedReturnPermits, FilteredEarnNothing
from assay_conformance.checks.flow.unacked import UnackedLimit
from assay_conformance.checks.flow.zero_queue import PermitForReceive, WaitingAsksAgain

__all__ = [
    "AcrossPartitions",
    "BoundedMemory",
    "BoundedPending",
    "DroppedReturnPermits",
    "EntriesWhole",
    "FilteredEarnNothing",
    "FirstPermits",
    "FullQueue",
    "HalfQueue",
    "PermitForReceive",
    "RestartsAfterReconnect",
    "UnackedLimit",
    "WaitingAsksAgain",
    "WithinQueue",
]
