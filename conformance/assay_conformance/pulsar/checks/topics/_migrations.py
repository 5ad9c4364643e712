"""Topics that migrate to another cluster, which TOPIC_MIGRATED names (PIP-188)."""

from __future__ import annotations

from collections.abc import Mapping

from assay_conformance.checks.tracker import ConsumerSession, ProducerSession, Tracker
from assay_conformance.model.event import Frame


def migrating_session(tracker: Tracker, frame: Frame) -> ProducerSession | ConsumerSession | None:
    """Return the session of the producer or consumer that TOPIC_MIGRATED is addressed to."""
    sessions: Mapping[tuple[int, int], ProducerSession | ConsumerSession]
    sessions = tracker.producers if frame.fields.get("resource_type") == "Producer" else tracker.consumers
    return sessions.get((frame.conn, int(frame.fields.get("resource_id", -1))))
