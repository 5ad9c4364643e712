from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Frame
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


class _Written(NamedTuple):
    """What a client wrote: ahead of CONNECTED, or first after it. `connect`: the first frame, where it is CONNECT."""

    frame: Frame
    connect: Frame | None
    is_connected: bool


def _first_frames(timeline: Timeline) -> Iterator[_Written]:
    """Yield what was written on every connection, up to the first frame after CONNECTED."""
    connected: set[int] = set()
    used: set[int] = set()
    connects: dict[int, Frame] = {}
    for frame in timeline.events.frames():
        if frame.conn in used:
            continue
        if frame.dir is Direction.TO_CLIENT:
            if frame.command == "CONNECTED" and frame.to_receiver:
                connected.add(frame.conn)
        elif frame.from_sender:
            is_connected = frame.conn in connected
            yield _Written(frame, connects.get(frame.conn), is_connected)
            if is_connected:
                used.add(frame.conn)
            elif frame.command == "CONNECT":
                connects.setdefault(frame.conn, frame)


@check("connection.handshake-first", of=_first_frames)
def handshake_first(timeline: Timeline, written: _Written) -> Says:
    """connection.handshake-first: the first frame is CONNECT, and the client sends no other before CONNECTED was
    written to it, but for the AUTH_RESPONSE of the handshake.

    That holds also after a refusal (ERROR instead of CONNECTED), when the connection cannot be used.
    """
    frame, connect, is_connected = written
    if is_connected:
        yield Exercised(frame)
    elif connect is None and frame.command != "CONNECT":
        yield breach(
            "something-else-first",
            f"connection {frame.conn}: expected CONNECT as the first frame; {frame.command} came at {ms(frame.t_ns)}",
            *(timeline.connection(frame.conn).opened, frame),
        )
    elif connect is not None and frame.command != "AUTH_RESPONSE":
        yield breach(
            "before-connected",
            f"connection {frame.conn}: CONNECT was sent at {ms(connect.t_ns)}; expected nothing else before CONNECTED "
            f"is written to the client; {frame.command} left at {ms(frame.t_ns)}",
            *(connect, frame),
        )
