"""The reference broker core, sans-IO. `cluster.Cluster` is the door; one module a concern behind it:

cluster -> session -> locating, producing, consuming -> topics -> topic -> subscription -> dispatch -> consumer
rules (constants, refusals), handlers (who serves which command), steps (what a Case may do to a broker) are tables
store, cursor, dedup, throttle, backlog are values without any I/O at all
"""

from __future__ import annotations

from assay_conformance.broker.cluster import Cluster, CursorState, ReadBackState
from assay_conformance.broker.host import ClusterSink
from assay_conformance.broker.mutations import BrokerMutation

__all__ = ["BrokerMutation", "Cluster", "ClusterSink", "CursorState", "ReadBackState"]
