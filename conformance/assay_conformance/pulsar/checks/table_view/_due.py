"""When a table view was to have what its topic holds."""

from __future__ import annotations

from typing import Final

from assay_conformance.judging.tolerance import TOLERANCES
from assay_conformance.model.event import Event
from assay_conformance.pulsar.timeline import MS, Timeline
from assay_conformance.pulsar.timeline.table_views import TableView, Write

_BACK_NS: Final = 1_500 * MS
"""What a client gets to come back, behind whatever was in its way."""


def is_due(timeline: Timeline, view: TableView, write: Write, at: Event) -> bool:
    """Return whether it was stored long enough before an event, while the view was open and nothing was in its way."""
    stored = write.stored
    if stored.seq < view.opened.seq or stored.t_ns + TOLERANCES["answer"].slack_ns > at.t_ns:
        return False
    if view.closing is not None and view.closing.seq < at.seq:
        return False
    ways = timeline.obstacles.between(stored.t_ns - _BACK_NS, at, view.handle, [view.topic])
    return next(ways, None) is None
