"""Which protocol version a connection's two sides agreed upon."""

from __future__ import annotations

from assay_conformance.checks.base import Check, on
from assay_conformance.model.event import Frame


class VersionCheck(Check):
    """Knows of every connection the lower one of the versions its sides named, and the CONNECTED that told it."""

    def start(self) -> None:
        self._asked: dict[int, int] = {}
        self.agreed: dict[int, tuple[int, Frame]] = {}

    @on(Frame, "CONNECT")
    def connect(self, event: Frame) -> None:
        if event.from_sender:
            self._asked[event.conn] = int(event.fields.get("protocol_version", 0))

    @on(Frame, "CONNECTED")
    def connected(self, event: Frame) -> None:
        if event.to_receiver:
            theirs = int(event.fields.get("protocol_version", 0))
            self.agreed[event.conn] = (min(theirs, self._asked.get(event.conn, theirs)), event)
