from __future__ import annotations

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.connection._openings import Opening, judge_attempted_again, openings
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("connection.retries-service-not-ready", of=openings)
def retries_service_not_ready(timeline: Timeline, opening: Opening) -> Says:
    """connection.retries-service-not-ready: ServiceNotReady, in answer to a registration, is followed by another
    attempt while the open call has time for one."""
    yield from judge_attempted_again(timeline, opening, Frame)
