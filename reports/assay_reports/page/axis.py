"""A timeline as data for the page's time axis: the script lays it out, since only it knows the zoom."""

from __future__ import annotations

import json

from assay_reports.text import clean
from assay_reports.timeline import Timeline


def story(timeline: Timeline) -> str:
    """JSON: `points` as [milliseconds, lane, text, seq, number in the finding or 0] and `bands` as [label, text, from
    ms, to ms or null while not healed]. Empty for a timeline without events."""
    if not timeline.points:
        return ""
    # The numbers are those of the chart, which shows every named event.
    numbers = {row.seq: number for number, row in enumerate((r for r in timeline.rows if r.named), start=1)}
    told = {
        "points": [
            [_ms(row.t_ns), row.lane.value, clean(row.text), row.seq, numbers.get(row.seq, 0)]
            for row in timeline.points
        ],
        "bands": [
            [f"F{band.fault}", clean(band.text), _ms(band.start_ns), None if band.end_ns is None else _ms(band.end_ns)]
            for band in timeline.bands
        ],
    }
    return json.dumps(told, separators=(",", ":"))


def _ms(t_ns: int) -> float:
    return round(t_ns / 1e6, 3)
