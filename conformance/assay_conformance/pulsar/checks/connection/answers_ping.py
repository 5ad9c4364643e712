from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator

from assay_conformance.model.event import Frame
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline import TOLERANCES, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.connections import Why

NO_PONG = "no-pong"
"""The code for a PING that gets no answer at all: such a client answers nothing."""


def _pings(timeline: Timeline) -> Iterator[tuple[Frame, Frame | None]]:
    """Yield every PING to a client, and its PONG: the next of its connection that answers no earlier one."""
    waiting: dict[int, deque[Frame]] = defaultdict(deque)
    for frame in timeline.events.frames("PING", "PONG") if timeline.view.is_read_at_once() else ():
        if frame.command == "PING" and frame.dir is Direction.TO_CLIENT and frame.to_receiver:
            waiting[frame.conn].append(frame)
        elif frame.command == "PONG" and frame.dir is Direction.TO_BROKER and frame.from_sender and waiting[frame.conn]:
            yield waiting[frame.conn].popleft(), frame
    for pings in waiting.values():
        yield from ((ping, None) for ping in pings)


@check("connection.answers-ping", of=_pings)
def answers_ping(timeline: Timeline, pinged: tuple[Frame, Frame | None]) -> Says:
    """connection.answers-ping: each PING written to the client is answered by a PONG at once: no timer is involved.

    Not judged where a publish rate stops the broker from reading, since it is then unknown when PONG was written, nor
    after bytes that are no frame: a client cannot read anything there.
    """
    ping, pong = pinged
    if pong is None and timeline.connection(ping.conn).has_seen(ping, Why.NOT_A_FRAME):
        return
    closed = timeline.closed(ping.conn) if pong is None else None
    seen_ns = timeline.bounds.until(closed) if pong is None else pong.t_ns
    if pong is not None:
        yield Exercised(ping)
    if timeline.bounds.is_overdue("answer", ping.t_ns, seen_ns, what="a PONG"):
        came = f"none had come at {ms(seen_ns)}" if pong is None else f"it came at {ms(seen_ns)}"
        yield breach(
            NO_PONG if pong is None else "late",
            f"connection {ping.conn}: PING was written to the client at {ms(ping.t_ns)}; expected PONG within "
            f"{TOLERANCES['answer'].slack_ms} ms; {came}",
            *(ping, pong, closed),
        )
