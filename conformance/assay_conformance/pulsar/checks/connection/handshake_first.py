"""connection.handshake-first"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.model.event import Frame
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId

_TO_CLIENT = Direction.TO_CLIENT
_HANDSHAKE = ("CONNECT", "AUTH_RESPONSE")


class HandshakeFirst(Check):
    """The first frame is CONNECT, and the client sends no other before CONNECTED was written to it.

    That holds also after a refusal (ERROR instead of CONNECTED), when the connection cannot be used.
    """

    requirement = RequirementId("connection.handshake-first")
    skips_plain = True

    def start(self) -> None:
        self._connected: set[int] = set()
        self._connects: dict[int, Frame] = {}
        self._used: set[int] = set()
        """Connected connections on which the client has sent something since."""

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
        connect = self._connects.get(event.conn)
        if connect is None and event.command == "CONNECT":
            self._connects[event.conn] = event
        elif connect is None:
            self.breach(
                "something-else-first",
                f"connection {event.conn}: expected CONNECT as the first frame; {event.command} came at "
                f"{ms(event.t_ns)}",
                self.tracker.opened.get(event.conn, event),
                event,
            )
        elif event.command not in _HANDSHAKE or event.command == "CONNECT":
            self.breach(
                "before-connected",
                f"connection {event.conn}: CONNECT was sent at {ms(connect.t_ns)}; expected nothing else before "
                f"CONNECTED is written to the client; {event.command} left at {ms(event.t_ns)}",
                connect,
                event,
            )
