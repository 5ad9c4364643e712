"""The reference broker core, sans-IO. `cluster.Cluster` is the interface, with one module a concern:

    cluster -> session (reading, handshake) -> locating, listing, describing, producing, consuming -> topics -> topic
    topics: placement (which broker), policies (which level), schemas (avro)
    topic -> admission (access) and publishing (pacing, dedup) -> store
    topic -> subscription (cursor) -> dispatch, sharing (backlog) -> consumer

Tables: rules (constants), handlers (who serves which command), steps (what a Case may do to a broker).
"""

from __future__ import annotations

from assay_conformance.broker.cluster import Cluster, CursorState, ReadBackState
from assay_conformance.broker.host import ClusterSink

__all__ = ["Cluster", "ClusterSink", "CursorState", "ReadBackState"]
