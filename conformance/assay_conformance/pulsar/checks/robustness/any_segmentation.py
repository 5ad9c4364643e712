from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import AgentEnded, Event, Fired, Frame, Healed
from assay_conformance.model.fault import Direction
from assay_conformance.model.outside import TAGS
from assay_conformance.pulsar.timeline import (
    Exercised,
    IncomingMessage,
    Says,
    Timeline,
    breach,
    check,
    each,
    incoming_messages,
    ms,
)
from assay_conformance.pulsar.timeline.incoming import other_content


@check("robustness.any-segmentation")
def any_segmentation(timeline: Timeline) -> Says:
    """robustness.any-segmentation: on a connection whose bytes arrive in unusual pieces, every message is received
    unchanged, and the connection stays open.

    That requests and sends complete is judged by the operations that wait for them.
    """
    since = _since(timeline)
    yield from each(incoming_messages(timeline, _messages(timeline, since)), _judge_received, timeline, since)
    yield from each(since.items(), _stays, timeline)


def _since(timeline: Timeline) -> dict[int, Fired]:
    """Return by connection the first fault that segmented its bytes: its own, or one of all open ones."""
    found: dict[int, Fired] = {}
    for fired in timeline.events.of(Fired):
        if fired.action == "resegment" and fired.conn is not None:
            found.setdefault(fired.conn, fired)
        elif fired.action == "slicer":
            for conn in _sliced(timeline, fired):
                found.setdefault(conn, fired)
    return found


def _sliced(timeline: Timeline, fired: Fired) -> Iterator[int]:
    healed = (one.seq for one in timeline.events.of(Healed) if one.fault == fired.fault and one.seq > fired.seq)
    until = next(healed, None)
    for conn, connection in timeline.connections.items():
        opened, closed = connection.opened, connection.closed
        is_over = closed is not None and closed.seq < fired.seq
        if opened is not None and not is_over and (until is None or opened.seq < until):
            yield conn


def _messages(timeline: Timeline, since: dict[int, Fired]) -> Iterator[Frame]:
    """Yield the whole messages on these connections; the chunking checks judge those in chunks."""
    for frame in timeline.events.frames("MESSAGE") if since else ():
        is_whole = frame.intact is not False and frame.members and (frame.meta is None or frame.meta.chunk_id is None)
        came = frame.dir is Direction.TO_CLIENT and frame.to_receiver and frame.conn in since
        if came and is_whole and since[frame.conn].seq < frame.seq:
            yield frame


def _judge_received(timeline: Timeline, since: dict[int, Fired], incoming: IncomingMessage) -> Says:
    taken, member = incoming.taken, incoming.member
    if taken is not None and taken.payload == member.payload:
        yield Exercised(taken)
    elif taken is not None:
        what = f"{incoming.entry}, which came in pieces,"
        yield other_content("message-changed", taken, member, what, incoming.frame)
    for end in incoming.missed:
        if not _is_disturbed(timeline, incoming.frame.conn, end):
            timeline.bounds.check_fair("answer", incoming.frame.t_ns, end.t_ns, what="whether a message only came late")
            yield breach(
                "message-lost",
                f"{incoming.entry} came in pieces to consumer {incoming.consumer.handle} at "
                f"{ms(incoming.frame.t_ns)}; expected it to be received; a receive ended without it at {ms(end.t_ns)}",
                *(since[incoming.frame.conn], incoming.frame, end),
            )


def _is_disturbed(timeline: Timeline, conn: int, before: Event) -> bool:
    """Return whether something else had happened there to which a client may react."""
    fired = (one for one in timeline.events.of(Fired) if one.conn == conn and one.seq < before.seq)
    reasons = timeline.connection(conn).reasons_but()
    return any(one.action != "resegment" for one in fired) or any(one.event.seq < before.seq for one in reasons)


def _stays(timeline: Timeline, in_pieces: tuple[int, Fired]) -> Says:
    """Judge whether the client stays.

    Faults of bytes, processes and packets may end every connection, and a process that ends its own: why it ended is
    judged elsewhere.
    """
    conn, fired = in_pieces
    left = timeline.connection(conn).left_by_client
    if left is None or _is_disturbed(timeline, conn, left):
        return
    outside = (one for one in timeline.events.of(Fired) if one.action in TAGS and one.action != "slicer")
    ended = (one.seq > left.seq for one in timeline.events.of(AgentEnded))
    if any(one.seq < left.seq for one in outside) or any(ended) or timeline.left_without_reason(conn) is None:
        return
    yield breach(
        "connection-closed",
        f"from {ms(fired.t_ns)} on the bytes of connection {conn} came in unusual pieces; expected them to be read as "
        f"usual; the client closed the connection at {ms(left.t_ns)}",
        *(fired, left),
    )
