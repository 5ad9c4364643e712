"""Seeks that never ended. Where what follows a seek is judged and the seek never ends, that is the client's failure."""

from __future__ import annotations

from assay_conformance.model.event import Overdue
from assay_conformance.pulsar.timeline import Says, Timeline, breach


def never_ends(timeline: Timeline) -> Says:
    """Yield a breach for the first seek that never ended, in a Case made for a requirement about seeks.

    A seek that the machine may have kept from ending does not count.
    """
    for one in timeline.events.of(Overdue):
        if one.verb == "seek" and timeline.end_of(one.op) is None and timeline.bounds.load.left_time_for(one):
            yield breach(
                "never-ended",
                f"seek (operation {one.op}) was expected to end within {one.deadline_ms} ms of its call; it had not "
                "ended when the Case did",
                one,
            )
            return
