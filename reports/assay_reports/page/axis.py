"""A timeline as data for the page's time axis: the script lays it out, since only it knows the zoom."""

from __future__ import annotations

import json

from assay_reports.page.chart import Chart
from assay_reports.text import clean
from assay_reports.timeline import Timeline


def story(timeline: Timeline, drawing: Chart) -> str:
    """Return what the page's script draws of a timeline, as JSON; empty for a timeline without events.

    `points` are [milliseconds, lane, text, seq, number in the finding or 0], and `bands` are [label, text, from ms, to
    ms or null while not healed].
    """
    if not timeline.points:
        return ""
    # The chart shows every event of the finding, and numbers and labels are its own.
    numbers = {drawn.row.seq: drawn.number for drawn in drawing.rows if drawn.number}
    values = {
        "points": [
            [_ms(row.t_ns), row.lane.value, clean(row.text), row.seq, numbers.get(row.seq, 0)]
            for row in timeline.points
        ],
        "bands": [
            [drawn.label, clean(drawn.band.text), _ms(drawn.band.start_ns), _ms(drawn.band.end_ns)]
            for drawn in drawing.bands
        ],
    }
    return json.dumps(values, separators=(",", ":"))


def _ms(t_ns: int | None) -> float | None:
    return None if t_ns is None else round(t_ns / 1e6, 3)
