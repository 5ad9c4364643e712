"""Chunks that reached consumers, and the effect of each on its message, by the table of `assembly`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple

from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.judging.certainty import Breach
from assay_conformance.judging.tolerance import MS, TOLERANCES
from assay_conformance.ledger.clauses import MOST_INCOMPLETE
from assay_conformance.model.event import Event, Frame, Meta
from assay_conformance.pulsar.timeline.assembly import Assembly, ChunkFate
from assay_conformance.pulsar.timeline.consumers import Consumer, ConsumerSession, Entry, known_owner
from assay_conformance.pulsar.timeline.deliveries import REDELIVER
from assay_conformance.pulsar.timeline.incoming import IncomingMessage, incoming_messages, not_delivered
from assay_conformance.pulsar.timeline.timeline import Timeline

EARLY_NS: Final = TOLERANCES["time-out-early"].slack_ns

Place = tuple[int, Entry]
"""Consumer handle, and the entry of a whole message: that of its last chunk."""


class Chunk(NamedTuple):
    """An intact chunk that reached a consumer, and its effect on its message.

    `before`: the chunks of its message that were held when it arrived; `others`: other messages held then; `most`: the
    largest number of messages that its session had held at once by then; `began_ns`: when its message had begun.
    """

    session: ConsumerSession
    consumer: Consumer
    frame: Frame
    meta: Meta
    entry: Entry
    fate: ChunkFate
    before: tuple[Entry, ...]
    others: frozenset[str]
    most: int
    began_ns: int

    @property
    def key(self) -> tuple[int, str]:
        """Session and uuid of the message."""
        return (self.session.request.seq, self.meta.uuid or "")

    @property
    def held(self) -> tuple[Entry, ...]:
        """The chunks of its message that are held now; none where it is whole, was discarded, or is not known."""
        if self.fate in (ChunkFate.REDELIVERED, ChunkFate.REPEATED):
            return self.before
        begins = self.fate in (ChunkFate.STARTED, ChunkFate.RESTARTED)
        return (self.entry,) if begins else (*self.before, self.entry) if self.fate is ChunkFate.APPENDED else ()

    @property
    def place(self) -> Place:
        """Where its message is received, if it is the last chunk."""
        return (self.consumer.handle, self.entry)


class Arrivals:
    """All of the attempt, in order."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.all = list(self._walk())
        self._of_session: dict[int, list[Chunk]] = {}
        for chunk in self.all:
            self._of_session.setdefault(chunk.key[0], []).append(chunk)

    def _walk(self) -> Iterator[Chunk]:
        events, assemblies = self._timeline.events, dict[int, Assembly]()
        newest: dict[tuple[int, str], Assembly] = {}
        """Consumer handle and topic -> the assembly of its last session there."""
        began_ns: dict[tuple[int, str], int] = {}
        came = (frame for frame in events.frames("MESSAGE") if frame.is_chunk and to_client(frame))
        arrived = [frame for frame in came if frame.intact is not False]
        again = [frame for frame in events.frames(REDELIVER) if from_client(frame) and not frame.ids]
        for frame in sorted([*arrived, *again], key=lambda one: one.seq) if arrived else ():
            session = self._timeline.consumer_sessions.of(frame)
            consumer = None if session is None else known_owner(session, frame)
            if session is None or consumer is None:
                continue
            number, topic = session.request.seq, (consumer.handle, session.topic)
            if number not in assemblies:
                before = newest.get(topic)
                assemblies[number] = newest[topic] = Assembly() if before is None else before.carried_over()
            assembly, meta = assemblies[number], frame.meta
            if frame.command != "MESSAGE" or meta is None:
                assembly.everything_again()
                continue
            entry, held = Entry(session.topic, frame.ids[0].ledger, frame.ids[0].entry), assembly.of(meta.uuid or "")
            fate, key = assembly.add(meta, entry), (number, meta.uuid or "")
            if fate in (ChunkFate.STARTED, ChunkFate.RESTARTED):
                began_ns[key] = frame.t_ns
            others = frozenset(uuid for uuid in assembly.held if uuid != meta.uuid)
            began = began_ns.get(key, frame.t_ns)
            yield Chunk(session, consumer, frame, meta, entry, fate, held, others, assembly.most, began)

    def joined(self, session: ConsumerSession, last: Entry, by: Event) -> tuple[Entry, ...]:
        """Return the chunks of the message whose last chunk came as this entry on a session by an event.

        None if it did not, or if a chunk of the message came a second time as another entry: another requirement judges
        which of the two counts.
        """
        chunks = self._whole.get((session.request.seq, last), ())
        chunk = next((one for one in reversed(chunks) if one.frame.seq < by.seq), None)
        return () if chunk is None else (*chunk.before, chunk.entry)

    @cached_property
    def _whole(self) -> dict[tuple[int, Entry], list[Chunk]]:
        """Session and entry of the last chunk -> chunks by which messages became whole."""
        found, repeated = dict[tuple[int, Entry], list[Chunk]](), set[tuple[int, str]]()
        for chunk in self.all:
            if chunk.fate is ChunkFate.REPEATED:
                repeated.add(chunk.key)
            elif chunk.meta.chunk_id == 0:
                repeated.discard(chunk.key)
            if chunk.fate is ChunkFate.COMPLETE and chunk.key not in repeated:
                found.setdefault((chunk.key[0], chunk.entry), []).append(chunk)
        return found

    @cached_property
    def incoming(self) -> list[IncomingMessage]:
        """Complete messages that have to be delivered, unless they took so long that the client may have dropped
        them."""
        whole = (chunk for chunk in self.all if chunk.fate is ChunkFate.COMPLETE and chunk.frame.members)
        return incoming_messages(self._timeline, (chunk.frame for chunk in whole if not self._may_have_expired(chunk)))

    def expiry_ns(self, consumer: Consumer) -> int:
        """Return how long a consumer keeps an incomplete message; 0 without a limit."""
        return (self._timeline.setting(consumer, "expire_incomplete_chunked_ms") or 0) * MS

    def _may_have_expired(self, chunk: Chunk) -> bool:
        expiry_ns = self.expiry_ns(chunk.consumer)
        return 0 < expiry_ns <= chunk.frame.t_ns - chunk.began_ns + EARLY_NS

    def limit(self, consumer: Consumer) -> int:
        """Return how many incomplete messages a consumer keeps; 0 without a limit."""
        limit = self._timeline.setting(consumer, "max_pending_chunked_messages")
        return MOST_INCOMPLETE if limit is None else limit

    def is_beyond(self, chunk: Chunk) -> bool:
        """Return whether there had been more incomplete messages by a chunk than the consumer keeps.

        Which of them it drops is its own choice.
        """
        return 0 < self.limit(chunk.consumer) < chunk.most

    def overflowed(self, session: ConsumerSession, by: Event) -> bool:
        """Return whether more had been incomplete by any event than the consumer keeps."""
        chunks = self._of_session.get(session.request.seq, [])
        place = bisect_left(chunks, by.seq, key=lambda chunk: chunk.frame.seq)
        return place > 0 and self.is_beyond(chunks[place - 1])


def whole_not_delivered(
    timeline: Timeline, incoming: IncomingMessage, past: str = "", *causes: Event
) -> Iterator[Breach]:
    """Yield a breach for each receive that lacks a complete message; `past` says what had happened to it before."""
    arrivals = timeline.once(Arrivals)
    kept = [end for end in incoming.missed if not arrivals.overflowed(incoming.session, end)]
    what = f"the last chunk of a whole message{past}"
    yield from not_delivered(timeline, replace(incoming, missed=kept), what, *causes)
