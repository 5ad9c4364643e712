"""Reasons of its own that a client may have to end a connection: then nothing that came over it is to blame."""

from __future__ import annotations

from assay_conformance.checks.base import Check, View, on
from assay_conformance.model.event import Frame, Invoke

LEAVING = ("close", "crash", "exit")
"""Verbs after which a client may end its connections by itself."""


class LeavingCheck(Check):
    """Knows which connections a client may have ended for reasons of its own."""

    def __init__(self, view: View) -> None:
        self.leaving = False
        """The application has begun to end what it has."""
        self.reasons_to_leave: set[int] = set()
        """Connections with another reason; subclasses add to it."""
        super().__init__(view)

    def may_leave(self, conn: int) -> bool:
        return self.leaving or conn in self.reasons_to_leave

    @on(Invoke, *LEAVING)
    def _leaves(self, event: Invoke) -> None:
        del event
        self.leaving = True

    @on(Frame, "SEND_ERROR")
    def _send_refused(self, event: Frame) -> None:
        """Clients send again over a new connection."""
        self.reasons_to_leave.add(event.conn)
