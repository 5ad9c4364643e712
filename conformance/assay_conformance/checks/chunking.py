"""Chunking, the receiving half: a message arrives as one, or not at all.

Judged against the table of `chunks`: a session's incomplete messages, and what each arriving chunk does to them.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.chunks import Assembly, Fate
from assay_conformance.checks.consumption import (
    ConsumerCheck,
    acked_entries,
    buries,
    entry_on,
    from_client,
    in_force,
    late,
    number_in_force,
    plain_acks,
    to_client,
)
from assay_conformance.checks.handover import Handover
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import (
    AgentEnded,
    Closed,
    Completion,
    Event,
    Frame,
    Meta,
    Received,
)
from assay_conformance.model.requirement import RequirementId

DEFAULT_MAX_PENDING = 10
"""Incomplete messages a consumer keeps where neither Case nor client says; beyond, the oldest is dropped."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """An intact chunk that reached a consumer, and what it did to its message."""

    session: ConsumerSession
    consumer: OpenedConsumer
    frame: Frame
    meta: Meta
    entry: Entry
    fate: Fate
    before: tuple[Entry, ...] = ()
    """The chunks of its message that were held when it came."""

    @property
    def key(self) -> tuple[int, str]:
        """The message, on this session."""
        return (self.session.request.seq, self.meta.uuid or "")


Story = tuple[str, tuple[Event, ...]]
"""Words to continue a sentence with, and the events they tell of."""


class ChunkedCheck(ConsumerCheck):
    """Consumers that get chunks: assembles each session's as the table says, and offers whole messages."""

    needs = (Trait.CHUNK,)

    def start(self) -> None:
        self._assemblies: dict[int, Assembly] = {}
        self._pieces: dict[Entry, set[Entry]] = {}
        self._named: set[tuple[int, Entry]] = set()
        self._named_to: dict[tuple[int, str], Entry] = {}
        self.handover = Handover(self.view)

    def arrived(self, arrival: Arrival) -> None:
        """An intact chunk reached a consumer."""

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        meta, session = event.meta, self.tracker.consumer_of(event)
        if meta is None or meta.chunk_id is None or session is None or not to_client(event) or event.intact is False:
            return
        consumer = session.consumer
        if consumer is None:
            return
        entry = entry_on(session, event.ids[0])
        before = tuple(self.assembly(session).held.get(meta.uuid or "", ()))
        fate = self.assembly(session).add(meta, entry)
        if fate is Fate.COMPLETE:
            self._pieces.setdefault(entry, set()).update((*before, entry))
            if event.members:
                self.handover.offer(session, event)
        self.arrived(Arrival(session, consumer, event, meta, entry, fate, before))

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def everything_again(self, event: Frame) -> None:
        """All of it comes from the beginning: a client may let go of what it holds, and loses nothing if it does."""
        session = self.tracker.consumer_of(event)
        if session is not None and from_client(event) and not event.ids:
            self.assembly(session).held.clear()
            self.handover.asked_again(session, event)

    def assembly(self, session: ConsumerSession) -> Assembly:
        return self._assemblies.setdefault(session.request.seq, Assembly())

    def asked(self, call: Call) -> None:
        if call.invoke.verb != "ack":
            return
        self._named.update((call.consumer.handle, entry) for entry in self.chunks_of(call))
        if call.cumulative:
            place = (call.consumer.handle, call.entry.topic)
            self._named_to[place] = max(self._named_to.get(place, call.entry), call.entry)

    def chunks_of(self, call: Call) -> set[Entry]:
        """All chunks, as far as they came, of the message that a call names."""
        return self._pieces.get(call.entry, set()) | {call.entry}

    def is_asked_for(self, consumer: OpenedConsumer, entry: Entry) -> bool:
        """Whether its message may be acknowledged, for a letter or by the application: that may have an older delivery
        of one that is on its way again, and incomplete."""
        reached = self._named_to.get((consumer.handle, entry.topic))
        named = (consumer.handle, entry) in self._named or (reached is not None and entry <= reached)
        return named or buries(self.view, consumer)

    def overflowed(self, session: ConsumerSession) -> bool:
        """More incomplete messages than the consumer keeps: which of them it dropped is its own choice."""
        assert session.consumer is not None
        limit = number_in_force(self.view, session.consumer, "max_pending_chunked_messages")
        return self.assembly(session).most > (DEFAULT_MAX_PENDING if limit is None else limit or 1 << 30)

    def taken(self, event: Received) -> tuple[OpenedConsumer | None, Entry | None]:
        """Whose delivery it is, and of which entry; the offer it takes up is gone."""
        consumer = self.tracker.opened_consumers.get(event.handle)
        if consumer is None:
            return None, None
        self.handover.received(consumer, event)
        return consumer, self.tracker.entries.get(event.seq)

    def not_delivered(self, event: Completion) -> None:
        """A receive that ended short, although a whole message had been there."""
        operation = self.tracker.operations.get(event.op)
        if operation is None:
            return
        for offer in self.handover.withheld(operation):
            past = self.story(event.handle or 0, offer.entry)
            if past is None or self.overflowed(offer.session):
                continue
            words, causes = past
            self.suspect(
                "answer",
                offer.frame.t_ns,
                event.t_ns,
                "not-delivered",
                f"the last chunk of a whole message came to consumer {event.handle} as {offer.entry} at "
                f"{ms(offer.frame.t_ns)}{words}; the message had not been handed over by {ms(event.t_ns)}, when a "
                "receive ended short",
                *causes,
                offer.frame,
                event,
            )

    def story(self, handle: int, entry: Entry) -> Story | None:
        """What had happened to a message that is withheld; None when that is not this requirement's matter."""
        raise NotImplementedError


class WholeOnly(ChunkedCheck):
    """Delivered when its last chunk came in order behind all others, and never before.

    That it is delivered at all, and rightly joined, is judged where every chunk came once: what a repeated one must not
    spoil is another requirement.
    """

    requirement = RequirementId("chunking.delivers-whole-only")

    def start(self) -> None:
        super().start()
        self._chunks: dict[tuple[int, Entry], tuple[Frame, Fate]] = {}
        self._open: dict[tuple[int, str], Frame] = {}
        self._disturbed: set[tuple[int, str]] = set()
        self._clean: set[tuple[int, Entry]] = set()

    def arrived(self, arrival: Arrival) -> None:
        key = (arrival.consumer.handle, arrival.entry)
        if key not in self._chunks or self._chunks[key][1] is not Fate.COMPLETE:
            self._chunks[key] = (arrival.frame, arrival.fate)
        if arrival.fate is Fate.COMPLETE:
            self._open.pop(arrival.key, None)
            if arrival.key not in self._disturbed:
                self._clean.add(key)
            return
        self._open[arrival.key] = arrival.frame
        if arrival.fate not in (Fate.STARTED, Fate.APPENDED):
            self._disturbed.add(arrival.key)

    def story(self, handle: int, entry: Entry) -> Story | None:
        return ("", ()) if (handle, entry) in self._clean else None

    @on(Received)
    def received(self, event: Received) -> None:
        consumer, entry = self.taken(event)
        if consumer is None or entry is None:
            return
        known = self._chunks.get((consumer.handle, entry))
        if known is None:
            return
        frame, fate = known
        if fate is not Fate.COMPLETE:
            assert frame.meta is not None
            self.breach(
                "fragment-delivered",
                f"consumer {consumer.handle} handed {entry} to the application at {ms(event.t_ns)}: it is chunk "
                f"{frame.meta.chunk_id} of {frame.meta.chunks} and not all others had come in order before it",
                frame,
                event,
            )
        elif (consumer.handle, entry) not in self._clean:
            return
        elif frame.members and event.payload != frame.members[0].payload:
            self.breach(
                "wrong-content",
                f"consumer {consumer.handle} joined the chunks up to {entry} to {event.size} bytes of digest "
                f"{event.digest:08x}, expected {frame.members[0].size} bytes of digest {frame.members[0].digest:08x}",
                frame,
                event,
            )
        else:
            self.exercise(event)

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        self.not_delivered(event)

    def finish(self) -> None:
        super().finish()
        for frame in self._open.values():
            self.exercise(frame)


@dataclass(slots=True)
class _Repeat:
    """A chunk that came again while its message was incomplete; `other`: as another entry."""

    session: ConsumerSession
    frame: Frame
    entry: Entry
    other: bool
    began_ns: int
    acked: bool = False


@dataclass(slots=True)
class _Joined:
    """A message that was completed with repeats on the way. `offered` counts how often it came whole."""

    repeats: list[_Repeat]
    frame: Frame
    offered: int = 1
    delivered: int = 0


class RepeatedChunk(ChunkedCheck):
    """A chunk that comes again is filtered. As another entry it is a producer's resend and is acknowledged; as the same
    entry it is a redelivery, and an ACK now would settle part of a message the application does not have yet."""

    requirement = RequirementId("chunking.filters-repeated-chunk")

    def start(self) -> None:
        super().start()
        self._began: dict[tuple[int, str], int] = {}
        """When the first chunk of a message came, in ns."""
        self._repeats: dict[tuple[int, str], list[_Repeat]] = {}
        self._joined: dict[tuple[int, Entry], _Joined] = {}
        self._all: list[_Repeat] = []

    def arrived(self, arrival: Arrival) -> None:
        fate, key = arrival.fate, arrival.key
        if fate in (Fate.STARTED, Fate.RESTARTED):
            self._began[key] = arrival.frame.t_ns
        if fate in (Fate.REPEATED, Fate.REDELIVERED):
            began_ns = self._began.get(key, arrival.frame.t_ns)
            repeat = _Repeat(arrival.session, arrival.frame, arrival.entry, fate is Fate.REPEATED, began_ns)
            self._repeats.setdefault(key, []).append(repeat)
            self._all.append(repeat)
        elif fate in (Fate.RESTARTED, Fate.GAP):
            for repeat in self._repeats.pop(key, ()):
                self._all.remove(repeat)
        elif fate is Fate.COMPLETE:
            self._complete(arrival, self._repeats.pop(key, []))

    def _complete(self, arrival: Arrival, repeats: list[_Repeat]) -> None:
        place = (arrival.consumer.handle, arrival.entry)
        if place in self._joined:
            self._joined[place].offered += 1
        elif repeats:
            self._joined[place] = _Joined(repeats, arrival.frame)

    @on(Received)
    def received(self, event: Received) -> None:
        consumer, entry = self.taken(event)
        joined = None if consumer is None or entry is None else self._joined.get((consumer.handle, entry))
        if joined is None:
            return
        joined.delivered += 1
        member = joined.frame.members[0] if joined.frame.members else None
        if joined.delivered > joined.offered:
            self.breach(
                "delivered-twice",
                f"consumer {event.handle} handed {entry} over {joined.delivered} times, the last at {ms(event.t_ns)}; "
                f"one of its chunks had come twice, and the message {joined.offered} time",
                joined.repeats[0].frame,
                event,
            )
        elif member is not None and event.payload != member.payload:
            self.breach(
                "wrong-content",
                f"consumer {event.handle} handed {entry} over as {event.size} bytes of digest {event.digest:08x}, "
                f"expected {member.size} bytes of digest {member.digest:08x}: a chunk that came twice counts once",
                joined.repeats[0].frame,
                event,
            )
        else:
            self.exercise(event)

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if not self._all or session is None or session.consumer is None or not from_client(event):
            return
        if event.ack_type == "Cumulative":
            settled = {r.entry for r in self._all if event.ids and r.entry <= entry_on(session, event.ids[0])}
        else:
            settled = set(acked_entries(session, event)) if plain_acks(event) else set()
        for repeat in self._all:
            if repeat.session is session and repeat.entry in settled and not repeat.acked:
                repeat.acked = True
                if not repeat.other and self._unasked(session.consumer, repeat, event):
                    self.breach(
                        "redelivery-acked",
                        f"consumer {session.consumer.handle} acknowledged chunk {repeat.entry} at {ms(event.t_ns)}; it "
                        f"had come again at {ms(repeat.frame.t_ns)} as the same entry, and its message was not "
                        "acknowledged by the application yet",
                        repeat.frame,
                        event,
                    )

    def _unasked(self, consumer: OpenedConsumer, repeat: _Repeat, ack: Frame) -> bool:
        expire_ms = number_in_force(self.view, consumer, "expire_incomplete_chunked_ms")
        if expire_ms and ack.t_ns - repeat.began_ns >= expire_ms * MS:
            return False  # The message was given up, and its chunks with it.
        if self.overflowed(repeat.session) or in_force(self.view, consumer, "auto_ack_oldest_chunked"):
            return False
        whole = [entry for (_, entry), joined in self._joined.items() if repeat in joined.repeats]
        return not any(self.is_asked_for(consumer, entry) for entry in (repeat.entry, *whole))

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        self.not_delivered(event)

    def story(self, handle: int, entry: Entry) -> Story | None:
        joined = self._joined.get((handle, entry))
        if joined is None:
            return None
        repeat = joined.repeats[0]
        return f", another chunk of it having come again as {repeat.entry} at {ms(repeat.frame.t_ns)}", (repeat.frame,)

    def _delivered(self, repeat: _Repeat) -> bool:
        """Of a message that was lost over its repeat, the loss is the finding."""
        return any(repeat in joined.repeats and joined.delivered for joined in self._joined.values())

    def over(self, session: ConsumerSession, event: Event) -> None:
        mine = [repeat for repeat in self._all if repeat.session is session]
        self._all = [repeat for repeat in self._all if repeat.session is not session]
        consumer = session.consumer
        interval_ms = None if consumer is None else number_in_force(self.view, consumer, "ack_group_ms")
        if consumer is None or interval_ms is None or isinstance(event, Closed | AgentEnded):
            return
        for repeat in mine:
            due_ns = repeat.frame.t_ns + interval_ms * MS
            overdue = late("ack-flush", due_ns, event.t_ns)
            if repeat.other and not repeat.acked and overdue and self._delivered(repeat):
                self.suspect(
                    "ack-flush",
                    repeat.frame.t_ns,
                    event.t_ns,
                    "repeat-not-acked",
                    f"consumer {consumer.handle} got a chunk again as {repeat.entry} at {ms(repeat.frame.t_ns)}, sent "
                    f"twice by its producer, and had not acknowledged it by {ms(event.t_ns)}: it stays in the backlog",
                    repeat.frame,
                    event,
                )
