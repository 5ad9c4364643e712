"""Which table views are judged, and when one was to have what its topic holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from assay_conformance.judging.tolerance import TOLERANCES
from assay_conformance.model.event import Event, Fate
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks._shut_out import refused_for_good
from assay_conformance.pulsar.timeline import MS, Timeline
from assay_conformance.pulsar.timeline.table_views import TableView, Write

_BACK_NS: Final = 1_500 * MS
"""What a client gets to come back, after whatever was in its way."""


def judged_views(timeline: Timeline) -> Iterator[TableView]:
    """Yield the table views but those that may lack something for good: a fault altered a message of their topic, or a
    broker refused their topic for good."""
    for view in timeline.table_views:
        topics = {base_topic(topic) for topic in timeline.once(refused_for_good)} | timeline.once(_altered)
        if view.topic not in topics:
            yield view


def _altered(timeline: Timeline) -> set[str]:
    """Return the topics of which a fault altered a message on its way to a consumer."""
    altered = (one for one in timeline.events.frames("MESSAGE") if one.fate is Fate.ALTERED)
    sessions = map(timeline.consumer_sessions.of, altered)
    return {base_topic(session.topic) for session in sessions if session is not None}


def is_due(timeline: Timeline, view: TableView, write: Write, at: Event) -> bool:
    """Return whether it was stored long enough before an event, while the view was open and nothing was in its way."""
    stored = write.stored
    if stored.seq < view.opened.seq or stored.t_ns + TOLERANCES["answer"].slack_ns > at.t_ns:
        return False
    if view.closing is not None and view.closing.seq < at.seq:
        return False
    ways = timeline.obstacles.between(stored.t_ns - _BACK_NS, at, view.handle, [view.topic])
    return next(ways, None) is None
