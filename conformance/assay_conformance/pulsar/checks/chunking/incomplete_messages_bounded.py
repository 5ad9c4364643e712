from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.consumption import in_force
from assay_conformance.model.event import Frame, Received
from assay_conformance.pulsar.checks.chunking._given_up import GivenUp, judge_given_up
from assay_conformance.pulsar.timeline import Says, Timeline, breach, check, each, ms
from assay_conformance.pulsar.timeline.arrivals import Arrivals, Chunk, Place
from assay_conformance.pulsar.timeline.assembly import ChunkFate

_BEGINS = (ChunkFate.STARTED, ChunkFate.RESTARTED)


@check("chunking.incomplete-messages-bounded")
def incomplete_messages_bounded(timeline: Timeline) -> Says:
    """chunking.incomplete-messages-bounded: beyond the configured number of incomplete messages the oldest is dropped:
    acknowledged where that is configured, otherwise left to the broker.

    A message of which a chunk comes twice may start over or go on; a client that dropped it has room for another one,
    so it does not count for older ones. What one connection began may be held over the next.
    """
    buffers = _Buffers(timeline)
    yield from each(buffers.given_up, judge_given_up, timeline)
    yield from each(timeline.all_received if buffers.dropped_whole else (), _judge_dropped, timeline, buffers)


@dataclass(slots=True)
class _Topic:
    """Of one consumer, over all connections: messages begun that may be incomplete, and those of them that it need not
    hold."""

    begun: set[str] = field(default_factory=set)
    doubted: set[str] = field(default_factory=set)

    def take(self, chunk: Chunk, uuid: str) -> None:
        """Take a chunk of a message."""
        if chunk.fate in _BEGINS:
            if uuid in self.begun:
                self.doubted.add(uuid)
            self.begun.add(uuid)
        elif chunk.fate in (ChunkFate.REPEATED, ChunkFate.REDELIVERED, ChunkFate.UNSURE):
            self.doubted.add(uuid)
        elif chunk.fate is ChunkFate.COMPLETE or (chunk.fate is ChunkFate.GAP and chunk.before):
            self.begun.discard(uuid)
            self.doubted.discard(uuid)


@dataclass(slots=True)
class _Session:
    """Incomplete messages in the order in which they began, and those that were dropped, each with the chunk that took
    its place."""

    order: list[str] = field(default_factory=list)
    dropped: dict[str, Frame] = field(default_factory=dict)
    latest: dict[str, Chunk] = field(default_factory=dict)


class _Buffers:
    """What consumers hold, chunk by chunk. `dropped_whole`: where a message is received that came whole although it had
    been dropped, each time: by which chunk that was shown (None where it came again, and there was room), and because
    of which."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.given_up: list[GivenUp] = []
        self.dropped_whole: dict[Place, list[tuple[Chunk, Frame | None]]] = {}
        self._topics: dict[tuple[int, str], _Topic] = {}
        self._sessions: dict[int, _Session] = {}
        for chunk in timeline.once(Arrivals).all:
            self._take(chunk)

    def _take(self, chunk: Chunk) -> None:
        uuid, session = chunk.meta.uuid or "", self._sessions.setdefault(chunk.key[0], _Session())
        topic = self._topics.setdefault((chunk.consumer.handle, chunk.session.topic), _Topic())
        topic.take(chunk, uuid)
        session.latest[uuid] = chunk
        if chunk.fate in _BEGINS:
            session.dropped.pop(uuid, None)
            session.order = [*(one for one in session.order if one != uuid), uuid]
            self._make_room(chunk, session, topic)
        elif uuid in session.dropped:
            if chunk.fate is ChunkFate.COMPLETE:
                self.dropped_whole.setdefault(chunk.place, []).append((chunk, session.dropped.pop(uuid)))
        elif chunk.fate in (ChunkFate.COMPLETE, ChunkFate.GAP, ChunkFate.UNSURE) and uuid in session.order:
            session.order.remove(uuid)
            if chunk.place in self.dropped_whole:
                self.dropped_whole[chunk.place].append((chunk, None))

    def _make_room(self, chunk: Chunk, session: _Session, topic: _Topic) -> None:
        limit = self._timeline.once(Arrivals).limit(chunk.consumer)
        if not limit:
            return
        while sum(uuid not in topic.doubted for uuid in session.order[1:]) >= limit:
            oldest = session.order.pop(0)
            session.dropped[oldest] = chunk.frame
            if oldest not in topic.doubted:
                entries = session.latest[oldest].held if oldest in chunk.others else ()
                to_ack = bool(in_force(self._timeline.view, chunk.consumer, "auto_ack_oldest_chunked"))
                why = "it was dropped with its message, the oldest, when another one began at"
                code = "dropped-not-acked" if to_ack else "dropped-acked"
                self.given_up.append(GivenUp(chunk, entries, to_ack, f"{why} {ms(chunk.frame.t_ns)}", code))
        # A consumer that holds messages in doubt has dropped these.
        topic.doubted.update(session.order[:-limit])


def _judge_dropped(timeline: Timeline, buffers: _Buffers, got: Received) -> Says:
    entry, consumer = timeline.entry_of(got), timeline.consumer(got.handle)
    shown = buffers.dropped_whole.get((got.handle, entry), []) if entry is not None else []
    before = [(chunk, because) for chunk, because in shown if chunk.frame.seq < got.seq]
    last, because = before[-1] if before else (None, None)
    if consumer is None or last is None or because is None:
        return
    del shown[: len(before)]
    yield breach(
        "kept-beyond-limit",
        f"consumer {got.handle} received {entry} at {ms(got.t_ns)}; expected it to be dropped at "
        f"{ms(because.t_ns)}, since at most {timeline.setting(consumer, 'max_pending_chunked_messages')} incomplete "
        "messages are kept",
        *(because, last.frame, got),
    )
