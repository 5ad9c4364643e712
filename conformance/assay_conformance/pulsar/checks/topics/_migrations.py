"""Topics that go to another cluster: TOPIC_MIGRATED says where (PIP-188)."""

from __future__ import annotations

from collections.abc import Mapping

from assay_conformance.checks.tracker import ConsumerSession, ProducerSession, Tracker
from assay_conformance.model.event import Frame


def migrated_to(told: Frame) -> frozenset[str]:
    """The addresses of the cluster that TOPIC_MIGRATED names."""
    urls = (told.fields.get("brokerServiceUrl"), told.fields.get("brokerServiceUrlTls"))
    return frozenset(str(url) for url in urls if url)


def who_migrates(tracker: Tracker, told: Frame) -> ProducerSession | ConsumerSession | None:
    """Whose topic TOPIC_MIGRATED is about."""
    sessions: Mapping[tuple[int, int], ProducerSession | ConsumerSession]
    sessions = tracker.producers if told.fields.get("resource_type") == "Producer" else tracker.consumers
    return sessions.get((told.conn, int(told.fields.get("resource_id", -1))))
