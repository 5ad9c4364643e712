"""Seeks that never ended: what was to come of them never came, and is the client's to answer for."""

from __future__ import annotations

from assay_conformance.model.event import Overdue
from assay_conformance.pulsar.timeline import Says, Timeline, breach


def never_ends(timeline: Timeline) -> Says:
    """Say of a Case made for a requirement about seeks that the first of them never ended.

    One that the machine may have kept from ending is none.
    """
    for one in timeline.events.of(Overdue):
        if one.verb == "seek" and timeline.end_of(one.op) is None and timeline.bounds.load.left_time_for(one):
            yield breach(
                "never-ended",
                f"seek (operation {one.op}) had not ended {one.deadline_ms} ms after it was called, nor when the Case "
                "ended; nothing came of it",
                one,
            )
            return
