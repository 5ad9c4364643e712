"""What a broker may have read before it stops reading a connection, and when it has to."""

from __future__ import annotations

from assay_conformance.checks.base import View
from assay_conformance.model.case import Who

READ_AHEAD_BYTES = 256 * 1024
"""What a broker may have read from a socket before it stops reading."""

SEEN_AHEAD_BYTES = 2 * READ_AHEAD_BYTES
"""What the bench may have seen of a connection that its broker has stopped reading: as much as sockets hold, and what
came with the last of that in one read."""


def holds_store(view: View) -> bool:
    """Return whether a step holds the store, so that SENDs stay unanswered."""
    return any(step.who is Who.BROKER and step.verb == "hold_store" for step in view.case.steps)
