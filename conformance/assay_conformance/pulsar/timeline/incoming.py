"""Messages that reached a client whole, and whether the application got them. A receive that ended with too few
messages, although such a message had been at the client for longer than any answer takes, shows that the client
withheld it. A client may withhold these:

| message                                  | why                                                                      |
|------------------------------------------|--------------------------------------------------------------------------|
| of a non-persistent topic                | entry ids start again whenever it is loaded, so an id identifies nothing |
| that came before SUCCESS                 | it is left over from the previous session                                |
| the target of an exclusive seek or start | the broker starts with it, and the client skips it                       |
| larger than the broker accepts           | by the limit in CONNECTED: the client may reject it                      |
| acknowledged, or compacted out           | in its batch                                                             |
| a letter, or one to become a letter      | a client with letters may settle it that way                             |
| acknowledged by the application          | a cumulative ack that was lost covers what is redelivered, or its chunk  |
| read already                             | by a reader, which keeps its position                                    |
| covered by a request for everything      | the client may drop what it holds, or what is in flight then             |
| of a paused consumer                     | its handler is not called with it                                        |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from assay_conformance.checks.consumption import is_dead_letter, is_open, moves_to_dead_letter, number_in_force
from assay_conformance.judging.certainty import Breach, breach
from assay_conformance.judging.tolerance import ms
from assay_conformance.model.event import Completion, Event, Frame, Invoke, Member, Received
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline.consumers import Consumer, ConsumerSession, Entry, known_consumer, known_owner
from assay_conformance.pulsar.timeline.deliveries import REDELIVER
from assay_conformance.pulsar.timeline.letters import Kind
from assay_conformance.pulsar.timeline.readers import begins_at, is_reader
from assay_conformance.pulsar.timeline.timeline import Timeline
from assay_conformance.pulsar.timeline.waiting import looked_ns

Place = tuple[Entry, int]
"""An entry, and the index in its batch; -1 without a batch."""


@dataclass(slots=True, eq=False)
class IncomingMessage:
    """One message of a MESSAGE. `taken`: the application got it; `missed`: receives that ended without it and with too
    few messages, longer than an answer takes after its MESSAGE."""

    session: ConsumerSession
    frame: Frame
    entry: Entry
    index: int
    taken: Received | None = None
    missed: list[Completion] = field(default_factory=list)

    @property
    def consumer(self) -> Consumer:
        """Its consumer; raises `UnknownError` if that is unknown."""
        return known_consumer(self.session, self.frame)

    @property
    def member(self) -> Member:
        """The message as it came."""
        return self.frame.members[max(self.index, 0)]


def incoming_messages(timeline: Timeline, frames: Iterable[Frame]) -> list[IncomingMessage]:
    """Return the messages of these MESSAGEs which came whole, in order: unbatched, a batch, or the last chunk."""
    chosen = {frame.seq: frame for frame in frames}
    return _Handover(timeline).through(chosen) if chosen else []


def not_delivered(timeline: Timeline, incoming: IncomingMessage, what: str, *causes: Event) -> Iterator[Breach]:
    """Yield a breach for each receive that misses it.

    `what` a message of its kind is, in a few words, and what had happened to it by `causes`.
    """
    for end in incoming.missed:
        if timeline.bounds.is_missing("answer", incoming.frame.t_ns, end.t_ns, what="a message"):
            yield breach(
                "not-delivered",
                f"{incoming.entry}, {what}, arrived at consumer {end.handle} at {ms(incoming.frame.t_ns)}; expected it "
                f"to be received; a receive ended without it at {ms(end.t_ns)}",
                *(*causes, incoming.frame, end),
            )


def content(one: Member | Received | Invoke) -> str:
    """Return how sentences tell one content from another."""
    return f"{one.size or 0} bytes of digest {one.digest or 0:08x}"


def other_content(code: str, got: Received, sent: Member, what: str, *causes: Event) -> Breach:
    """Return the breach of a message, `what` it is in a few words, that was not received as it was sent."""
    received = f"consumer {got.handle} received {what} at {ms(got.t_ns)}"
    return breach(code, f"{received} as {content(got)}; expected {content(sent)}", *causes, got)


class _Handover:
    """One pass over what arrived, and what the application got."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline, self._view = timeline, timeline.view
        self._transient = timeline.non_persistent
        self._found: list[IncomingMessage] = []
        self._open: dict[int, dict[Place, IncomingMessage]] = {}
        """Handle of a consumer -> messages that reached it and were not delivered yet."""
        self._got: dict[int, set[Entry]] = {}
        """Handle -> entries of which it has got a message."""
        self._last: dict[tuple[int, str], Entry] = {}
        """Handle and topic -> what it has got last there."""
        self._asked: dict[ConsumerSession, Frame] = {}
        """Session -> the last request for everything on it."""

    def through(self, chosen: dict[int, Frame]) -> list[IncomingMessage]:
        events = self._timeline.events
        again = (frame for frame in events.frames(REDELIVER) if frame.from_sender and not frame.ids)
        seen: list[Event] = [*chosen.values(), *again, *events.of(Received), *self._timeline.starved]
        for event in sorted(seen, key=lambda one: one.seq):
            if isinstance(event, Received):
                self._received(event)
            elif isinstance(event, Completion):
                self._missed(event)
            elif event.seq in chosen:
                self._came(chosen[event.seq])
            else:
                self._asked_again(event)  # type: ignore[arg-type]
        return self._found

    def _came(self, frame: Frame) -> None:
        session = self._timeline.consumer_sessions.of(frame)
        if session is None or base_topic(session.topic) in self._transient:
            return
        id, consumer = frame.ids[0], known_owner(session, frame)
        entry = Entry(session.topic, id.ledger, id.entry)
        if consumer is None:
            self._found.append(IncomingMessage(session, frame, entry, -1))
        elif not self._is_passed_over(session, consumer, frame, entry):
            for index in _owed(frame):
                incoming = IncomingMessage(session, frame, entry, index)
                self._found.append(incoming)
                self._open.setdefault(consumer.handle, {})[entry, index] = incoming

    def _is_passed_over(self, session: ConsumerSession, consumer: Consumer, frame: Frame, entry: Entry) -> bool:
        if session.admitted is None or session.admitted.seq > frame.seq or begins_at(session, entry):
            return True
        if self._timeline.has_sought(consumer, entry, frame) or is_dead_letter(self._view, consumer, frame):
            return True
        if self._became_letter(consumer, frame, entry) or self._was_asked_again(session, frame):
            return True
        limit = self._timeline.announced_limit(frame)
        return limit is not None and _size_of(frame) > limit

    def _became_letter(self, consumer: Consumer, frame: Frame, entry: Entry) -> bool:
        """Return whether it came with the maximum redelivery count and went to the dead letter topic. Go and Rust
        clients move such a message without delivering it.
        """
        count = frame.redelivery_count
        if not count or count != number_in_force(self._view, consumer, "max_redeliver_count"):
            return False
        letters = self._timeline.letters
        origin = letters.origin_of(entry)
        return any(one.origin == origin and one.frame.seq > frame.seq for one in letters.of(Kind.DEAD))

    def _was_asked_again(self, session: ConsumerSession, frame: Frame) -> bool:
        """Return whether the broker had written it before a redelivery request for everything. It is sent once more,
        and a client may recognise this copy as the older one by its epoch (PIP-84) or its position.
        """
        asked = self._asked.get(session)
        return asked is not None and self._timeline.written(frame).seq < asked.seq

    def _received(self, message: Received) -> None:
        entry, handle = self._timeline.entry_of(message), message.handle
        if entry is None:
            return
        self._got.setdefault(handle, set()).add(entry)
        self._last[handle, entry.topic] = entry
        index, waiting = message.message_id.batch_index, self._open.get(handle, {})
        # Of a batch of one, clients say that it is no batch, or the other way round.
        for place in (index, -1 - index) if index in (0, -1) else (index,):
            if (entry, place) in waiting:
                waiting.pop((entry, place)).taken = message
                return

    def _asked_again(self, frame: Frame) -> None:
        session = self._timeline.consumer_sessions.of(frame)
        if session is not None:
            self._asked[session] = frame
        for handle, waiting in self._open.items():
            self._open[handle] = {
                place: incoming for place, incoming in waiting.items() if incoming.session is not session
            }

    def _missed(self, end: Completion) -> None:
        consumer = self._timeline.consumer(end.handle)
        for incoming in self._open.get(consumer.handle, {}).values() if consumer is not None else ():
            if (
                consumer is not None
                and self._is_late(consumer, incoming, end)
                and self._is_owed(consumer, incoming, end)
            ):
                incoming.missed.append(end)

    def _is_late(self, consumer: Consumer, incoming: IncomingMessage, end: Completion) -> bool:
        """Return whether it had been there for too long; a consumer that its application has paused keeps it."""
        unpaused_ns = self._timeline.unpaused_since_ns(consumer, end)
        if unpaused_ns is None:
            return False
        due_ns = max(unpaused_ns, looked_ns(self._timeline, consumer, incoming.frame.t_ns))
        return self._timeline.bounds.is_past("answer", due_ns, end.t_ns)

    def _is_owed(self, consumer: Consumer, incoming: IncomingMessage, end: Completion) -> bool:
        handle, entry, ended = consumer.handle, incoming.entry, incoming.session.ended
        if (ended is not None and ended.seq <= end.seq) or self._timeline.is_unsure(consumer, entry.topic, end):
            return False
        if moves_to_dead_letter(self._view, consumer) and entry in self._got.get(handle, ()):
            return False
        last = self._last.get((handle, entry.topic)) if is_reader(incoming.session) else None
        if last is not None and last >= entry:
            return False
        calls = (call for part in self._parts(incoming) for call in self._timeline.calls_about(consumer, part))
        return not any(call.invoke.verb == "ack" and call.invoke.seq < end.seq for call in calls)

    def _parts(self, incoming: IncomingMessage) -> Iterator[Entry]:
        """Yield its entry, and those of its earlier chunks."""
        yield incoming.entry
        meta = incoming.frame.meta
        if meta is not None and meta.chunk_id:
            for frame in self._timeline.consumer_sessions.frames(incoming.session, "MESSAGE"):
                if (
                    frame.seq < incoming.frame.seq
                    and frame.ids
                    and frame.meta is not None
                    and frame.meta.uuid == meta.uuid
                ):
                    yield Entry(incoming.entry.topic, *frame.ids[0].position)


def _owed(frame: Frame) -> Iterator[int]:
    """Yield indexes of the messages in it that are open."""
    for index in range(frame.meta.batch) if frame.meta is not None and frame.meta.batch else (-1,):
        compacted = 0 <= index < len(frame.members) and frame.members[index].compacted_out
        if not compacted and is_open(frame, index):
            yield index


def _size_of(frame: Frame) -> int:
    """Return what counts against a broker's limit: the body.

    That of a batch holds the headers of its messages, too. What chunks join to may be of any size.
    """
    if frame.is_chunk:
        return 0
    is_batch = frame.meta is not None and frame.meta.batch
    return frame.size if is_batch else sum(member.size for member in frame.members)
