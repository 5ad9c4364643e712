"""Handshakes: what both sides of a connection say before anything else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.history.events import Events
from assay_conformance.model.event import Event, Frame


class Handshake(NamedTuple):
    """The CONNECT of a client, None where the history does not show it, and the CONNECTED that was written to it."""

    connect: Frame | None
    connected: Frame

    @property
    def version(self) -> int:
        """The lower one of the protocol versions that the two name."""
        theirs = int(self.connected.fields.get("protocol_version", 0))
        return theirs if self.connect is None else min(theirs, int(self.connect.fields.get("protocol_version", 0)))

    @property
    def max_message_bytes(self) -> int | None:
        """The largest message that this broker accepts, if it says so."""
        limit = self.connected.fields.get("max_message_size")
        return int(limit) if limit else None

    def is_before(self, event: Event) -> bool:
        """Return whether it had ended by an event."""
        return self.connected.seq <= event.seq


class Handshakes:
    """Those of all connections, by number."""

    def __init__(self, events: Events) -> None:
        connects = {one.conn: one for one in events.frames("CONNECT") if one.from_sender}
        answers = [one for one in events.frames("CONNECTED") if one.to_receiver]
        self._found = {one.conn: Handshake(connects.get(one.conn), one) for one in answers}

    def on(self, conn: int) -> Handshake | None:
        """Return the handshake of a connection, whenever it was."""
        return self._found.get(conn)

    def of(self, frame: Frame) -> Handshake | None:
        """Return the handshake that was over on the connection of a frame when it was written."""
        found = self._found.get(frame.conn)
        return found if found is not None and found.is_before(frame) else None

    def below(self, events: Events, version: int, *commands: str) -> Iterator[tuple[Frame, Handshake]]:
        """Yield the frames of these commands that clients wrote with an agreed protocol version below this one."""
        older = {conn for conn, one in self._found.items() if one.version < version}
        for frame in events.frames(*commands) if older else ():
            handshake = self.of(frame) if frame.conn in older and frame.from_sender else None
            if handshake is not None:
                yield frame, handshake

    def __iter__(self) -> Iterator[Handshake]:
        return iter(self._found.values())
