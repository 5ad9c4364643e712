"""Whether a client read what its broker refused it with; the checks of refused sends are in `pulsar.checks.resend`."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.model.event import ClosedBy, Frame
from assay_conformance.pulsar.timeline.sends import IN_FLIGHT_NS


def was_read(check: Check, event: Frame, *, alone: bool) -> bool:
    """Whether the client certainly read what was written to it on a connection that then ended.

    It had time to, or it ended the connection itself and had no other reason: neither an error nor a receipt out of its
    turn had come there before, and `alone`, nothing else was wrong.
    """
    closed, other = check.tracker.closed.get(event.conn), check.tracker.may_be_left.get(event.conn)
    if closed is None or closed.t_ns - event.t_ns > IN_FLIGHT_NS:
        return True
    return closed.by is ClosedBy.CLIENT and alone and (other is None or event.seq <= other.seq)
