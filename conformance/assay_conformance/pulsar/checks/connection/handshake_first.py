"""connection.handshake-first"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.model.event import Frame
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId

_TO_CLIENT = Direction.TO_CLIENT
_HANDSHAKE = ("CONNECT", "AUTH_RESPONSE")


class HandshakeFirst(Check):
    """The first frame is CONNECT, and until CONNECTED was written to the client nothing follows it.

    What comes after a refusal (ERROR instead of CONNECTED) is among those frames: the connection is of no use.
    """

    requirement = RequirementId("connection.handshake-first")
    skips_plain = True

    def start(self) -> None:
        self._connected: set[int] = set()
        self._asked: dict[int, Frame] = {}
        self._used: set[int] = set()
        """Connected ones over which the client has sent something since."""

    @on(Frame)
    def frame(self, event: Frame) -> None:
        if event.conn in self._used:
            return
        if event.dir is _TO_CLIENT:
            if event.command == "CONNECTED" and event.to_receiver:
                self._connected.add(event.conn)
        elif event.from_sender:
            if event.conn not in self._connected:
                self._early(event)
            else:
                self._used.add(event.conn)
                self.exercise(event)

    def _early(self, event: Frame) -> None:
        asked = self._asked.get(event.conn)
        if asked is None and event.command == "CONNECT":
            self._asked[event.conn] = event
        elif asked is None:
            self.breach(
                "something-else-first",
                f"connection {event.conn}: the first frame must be CONNECT, but {event.command} came at "
                f"{ms(event.t_ns)}",
                self.tracker.opened.get(event.conn, event),
                event,
            )
        elif event.command not in _HANDSHAKE or event.command == "CONNECT":
            self.breach(
                "before-connected",
                f"connection {event.conn}: {event.command} left at {ms(event.t_ns)}; CONNECT was sent at "
                f"{ms(asked.t_ns)} and no CONNECTED had been written to the client",
                asked,
                event,
            )
