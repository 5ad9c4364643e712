from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.checks.consumption import in_force
from assay_conformance.model.event import AgentEnded, Closed, Frame, Received
from assay_conformance.pulsar.checks.chunking._given_up import Chunks
from assay_conformance.pulsar.timeline import Exercised, IncomingMessage, Says, Timeline, breach, check, each, ms
from assay_conformance.pulsar.timeline.arrivals import Arrivals, Chunk, Place, whole_not_delivered
from assay_conformance.pulsar.timeline.assembly import ChunkFate
from assay_conformance.pulsar.timeline.incoming import other_content


@check("chunking.repeated-chunk-dropped")
def repeated_chunk_dropped(timeline: Timeline) -> Says:
    """chunking.repeated-chunk-dropped: a repeated chunk is dropped. As another entry it was sent twice by the producer,
    and is acknowledged. As the same entry it is a redelivery: an ACK would acknowledge part of a message that the
    application does not have yet."""
    repeats = _Repeats(timeline)
    yield from each(repeats.joined.values(), _counts_once, timeline)
    yield from each(timeline.once(Arrivals).incoming if repeats.joined else (), _judge_received, timeline, repeats)
    yield from each(repeats.all, _judge_settled, timeline, repeats)


@dataclass(slots=True, eq=False)
class _Repeat:
    """A chunk that came again while its message was incomplete; `other`: as another entry. `began_ns`: when its message
    had begun; `until`: what showed that its message was incomplete again; `whole`: where its message is received."""

    chunk: Chunk
    other: bool
    began_ns: int
    until: Frame | None = None
    whole: Chunk | None = None


@dataclass(slots=True, eq=False)
class _Joined:
    """A message that was completed in spite of repeated chunks, each time that it came whole."""

    repeats: list[_Repeat]
    whole: list[Chunk]


class _Repeats:
    """All of the attempt."""

    def __init__(self, timeline: Timeline) -> None:
        self.all: list[_Repeat] = []
        self.joined: dict[Place, _Joined] = {}
        waiting: dict[tuple[int, str], list[_Repeat]] = {}
        for chunk in timeline.once(Arrivals).all:
            if chunk.fate in (ChunkFate.REPEATED, ChunkFate.REDELIVERED):
                self.all.append(_Repeat(chunk, chunk.fate is ChunkFate.REPEATED, chunk.began_ns))
                waiting.setdefault(chunk.key, []).append(self.all[-1])
            elif chunk.fate is ChunkFate.COMPLETE:
                self._complete(chunk, waiting.pop(chunk.key, []))
            elif chunk.fate is not ChunkFate.APPENDED:
                for repeat in waiting.pop(chunk.key, ()):
                    repeat.until = chunk.frame

    def _complete(self, chunk: Chunk, repeats: list[_Repeat]) -> None:
        joined = self.joined.get(chunk.place)
        if joined is not None:
            joined.whole.append(chunk)
        elif repeats:
            self.joined[chunk.place] = _Joined(repeats, [chunk])
            for repeat in repeats:
                repeat.whole = chunk


def _counts_once(timeline: Timeline, joined: _Joined) -> Says:
    first, repeat = joined.whole[0], joined.repeats[0].chunk.frame
    member = first.frame.members[0] if first.frame.members else None
    for number, got in enumerate(_delivered(timeline, joined), 1):
        arrived = sum(chunk.frame.seq < got.seq for chunk in joined.whole)
        if number > arrived:
            yield breach(
                "delivered-twice",
                f"consumer {got.handle} received {first.entry} {number} times, last at {ms(got.t_ns)}; expected "
                f"{arrived}, since only one of its chunks came twice",
                *(repeat, got),
            )
        elif member is not None and got.payload != member.payload:
            yield other_content("wrong-content", got, member, f"{first.entry}, of which a chunk came twice,", repeat)
        else:
            yield Exercised(got)


def _delivered(timeline: Timeline, joined: _Joined) -> Iterator[Received]:
    """Yield what the application got of a message since it was joined in spite of repeats."""
    first = joined.whole[0]
    for got in timeline.received(first.consumer):
        if got.seq > first.frame.seq and timeline.entry_of(got) == first.entry:
            yield got


def _judge_received(timeline: Timeline, repeats: _Repeats, incoming: IncomingMessage) -> Says:
    joined = repeats.joined.get((incoming.consumer.handle, incoming.entry))
    if joined is not None:
        repeat = joined.repeats[0].chunk
        past = f", after another chunk of it had come again as {repeat.entry} at {ms(repeat.frame.t_ns)}"
        yield from whole_not_delivered(timeline, incoming, past, repeat.frame)


def _judge_settled(timeline: Timeline, repeats: _Repeats, repeat: _Repeat) -> Says:
    chunk, frame, handle = repeat.chunk, repeat.chunk.frame, repeat.chunk.consumer.handle
    over = timeline.consumer_sessions.end_after(chunk.session, frame)
    if over is None:
        return
    stop = over.seq if repeat.until is None else min(over.seq, repeat.until.seq)
    ack = timeline.written_acks(chunk.session).first(chunk.entry, frame)
    if ack is not None and ack.seq < stop:
        if not repeat.other and _is_premature(timeline, repeat, ack):
            yield breach(
                "redelivery-acked",
                f"consumer {handle} acknowledged chunk {chunk.entry} at {ms(ack.t_ns)}, which had come again at "
                f"{ms(frame.t_ns)} as the same entry; expected no ACK before the application acknowledges its message",
                *(frame, ack),
            )
        return
    if not repeat.other or stop < over.seq or isinstance(over, Closed | AgentEnded):
        return
    # If its message was lost because of the repeat, the loss is reported instead.
    joined = repeats.joined.get(repeat.whole.place) if repeat.whole is not None else None
    if joined is None or not any(got.seq < over.seq for got in _delivered(timeline, joined)):
        return
    if timeline.is_ack_overdue(chunk.consumer, frame.t_ns, over.t_ns):
        yield breach(
            "repeat-not-acked",
            f"consumer {handle} got a chunk again at {ms(frame.t_ns)}, as {chunk.entry}, which its producer had sent "
            f"twice; expected an ACK of {chunk.entry}, so that it leaves the backlog; none had left by {ms(over.t_ns)}",
            *(frame, over),
        )


def _is_premature(timeline: Timeline, repeat: _Repeat, ack: Frame) -> bool:
    consumer, chunks = repeat.chunk.consumer, timeline.once(Chunks)
    expiry_ns = timeline.once(Arrivals).expiry_ns(consumer)
    if expiry_ns and ack.t_ns - repeat.began_ns >= expiry_ns:
        return False  # The message was dropped, and its chunks with it.
    drops_oldest = in_force(timeline.view, consumer, "auto_ack_oldest_chunked")
    if drops_oldest or timeline.once(Arrivals).overflowed(repeat.chunk.session, ack):
        return False
    whole = [repeat.whole.entry] if repeat.whole is not None and repeat.whole.frame.seq < ack.seq else []
    return not any(chunks.may_be_acked(consumer, entry, ack) for entry in (repeat.chunk.entry, *whole))
