from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import to_client
from assay_conformance.model.event import AgentEnded, Fired, Frame
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
from assay_conformance.wire.describe import MAX_MESSAGE_BYTES


@check("compression.absurd-size-not-trusted")
def absurd_size_not_trusted(timeline: Timeline) -> Says:
    """compression.absurd-size-not-trusted: a message with an uncompressed size beyond the limit of any message affects
    only itself: later messages are received, and neither the connection nor the process ends because of it."""
    absurd = list(_absurd(timeline))
    first, last = dict[int, Frame](), dict[int, Frame]()
    for handle, frame in absurd:
        first.setdefault(handle, frame)
        last[frame.conn] = frame
        yield Exercised(frame)
    if absurd:
        yield from each(timeline.events.of(AgentEnded), _survives, absurd[0][1])
        yield from each(last.values(), _stays, timeline, [frame for _, frame in absurd])
        yield from each(incoming_messages(timeline, _messages(timeline, absurd[0][1])), _goes_on, timeline, first)


def _absurd(timeline: Timeline) -> Iterator[tuple[int, Frame]]:
    """Yield the absurd frames with the handles of the consumers that they came to."""
    for frame in timeline.events.frames("MESSAGE"):
        if not _is_absurd(frame) or not to_client(frame) or not frame.intact:
            continue
        consumer = timeline.consumer_of(frame)
        if consumer is not None:
            yield consumer.handle, frame


def _is_absurd(frame: Frame) -> bool:
    meta = frame.meta
    return meta is not None and meta.compression != "NONE" and meta.uncompressed_size > MAX_MESSAGE_BYTES


def _messages(timeline: Timeline, after: Frame) -> Iterator[Frame]:
    """Yield the whole messages after an event; the chunking checks judge those in chunks."""
    for frame in timeline.events.frames("MESSAGE"):
        alone = frame.meta is not None and frame.meta.chunk_id is None and frame.members
        if frame.seq > after.seq and alone and to_client(frame) and frame.intact and not _is_absurd(frame):
            yield frame


def _survives(first: Frame, ended: AgentEnded) -> Says:
    if ended.seq > first.seq and not ended.killed:
        yield breach(
            "died",
            f"{_describe(first)}; expected the client to survive it; its process ended at {ms(ended.t_ns)}: "
            f"{ended.reason}",
            *(first, ended),
        )


def _stays(timeline: Timeline, absurd: list[Frame], last: Frame) -> Says:
    """Judge whether the client stays; faults of bytes, processes and packets may end every connection."""
    left = timeline.left_over_messages(last, absurd)
    fired = timeline.events.of(Fired) if left is not None else ()
    if left is not None and not any(one.conn in (None, left.conn) and one.seq < left.seq for one in fired):
        yield breach(
            "connection-closed",
            f"{_describe(last)}; expected the client to go on without that message; it closed connection {left.conn} "
            f"at {ms(left.t_ns)}",
            *(last, left),
        )


def _goes_on(timeline: Timeline, first: dict[int, Frame], incoming: IncomingMessage) -> Says:
    absurd = first.get(incoming.consumer.handle)
    if absurd is None or absurd.seq > incoming.frame.seq:
        return
    for end in incoming.missed:
        if timeline.bounds.is_missing("answer", incoming.frame.t_ns, end.t_ns, what="a message"):
            yield breach(
                "stuck",
                f"consumer {end.handle}: {_describe(absurd)}; {incoming.entry} arrived after it at "
                f"{ms(incoming.frame.t_ns)}; expected it to be received; a receive ended without it at {ms(end.t_ns)}",
                *(absurd, end),
            )


def _describe(frame: Frame) -> str:
    size = frame.meta.uncompressed_size if frame.meta is not None else 0
    return f"a message with an uncompressed size of {size} bytes came at {ms(frame.t_ns)}"
