"""What a producer has sent, over all its connections: its units in order, which came again, which were receipted.

A *line* is one producer as the application knows it: one handle on one topic (or one partition of it). On the wire it
appears as a session per PRODUCER frame; `foresight` says which sessions are whose, and one that may be another
producer's is a line of its own. A *unit* is what travels as one SEND: a message, a batch or a chunk. It is known again
by the messages inside; a chunk (whose message is unknown before the last one) and payloads too small for an identity
by sequence id and chunk number.

Everything here is the client's side of the wire: SENDs as the client wrote them, answers as they were written to it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from assay_conformance.checks.foresight import Foresight
from assay_conformance.history.openings import Openings
from assay_conformance.model.event import AgentEnded, Frame, Invoke, Member, Stored
from assay_conformance.model.topic_names import base_topic

if TYPE_CHECKING:
    from assay_conformance.checks.tracker import ProducerSession

Content = tuple[int, int]
"""Digest and size: what distinguishes one message of a producer from another."""

HandleEnd = Invoke | AgentEnded
"""What ends a handle: the command that closes it or its client, or the death of the process it lived in."""


@dataclass(slots=True, eq=False)
class Unit:
    """One SEND unit. `index` is its place among the units of its line, by first SEND."""

    line: Line
    index: int
    first: Frame
    session: ProducerSession
    """The session it was last sent on."""
    numbers: tuple[int, ...]
    """Numbers of the messages inside, where known."""
    sends: list[tuple[ProducerSession, Frame]]
    receipts: tuple[Frame, ...] = ()
    errors: tuple[Frame, ...] = ()
    given_up: bool = False
    """A send inside has failed, or may have: it is no longer in the client's queue."""

    @property
    def sequence_id(self) -> int:
        return self.first.sequence_id or 0

    @property
    def is_chunk(self) -> bool:
        """Whether it is a part of a message."""
        return _is_chunk(self.first)

    @property
    def answers(self) -> tuple[Frame, ...]:
        """Its receipts, and its errors."""
        return (*self.receipts, *self.errors)

    @property
    def answered(self) -> bool:
        return bool(self.receipts or self.errors)

    def answered_before(self, seq: int) -> bool:
        """Return whether a receipt or an error had come for it before event `seq`."""
        return any(answer.seq < seq for answer in self.answers)

    def sent_on(self, session: ProducerSession) -> Frame | None:
        """Return its first SEND on this session."""
        since = bisect_left(self.sends, session.request.seq, key=lambda send: send[1].seq)
        those = (self.sends[place] for place in range(since, len(self.sends)))
        return next((frame for on, frame in those if on is session), None)

    def __str__(self) -> str:
        what = f"sequence id {self.sequence_id}"
        meta = self.first.meta
        if meta is not None and meta.chunk_id is not None:
            return f"{what} (chunk {meta.chunk_id})"
        return f"{what} (messages {self.numbers[0]} to {self.numbers[-1]})" if len(self.numbers) > 1 else what


@dataclass(slots=True, eq=False)
class Line:
    """`handle` is None where nothing says whose line it is. `closing` is what ends it."""

    topic: str
    name: str | None
    handle: int | None = None
    closing: HandleEnd | None = None
    units: list[Unit] = field(default_factory=list)
    latest: dict[int, Unit] = field(default_factory=dict)
    """The last of them that goes by a sequence id."""
    ids_used: set[int] = field(default_factory=set)
    """Sequence ids that its units went by, where the client chooses them."""
    highest_id: int = -1
    """Of all messages so far, where the application chooses their ids."""
    sessions: list[ProducerSession] = field(default_factory=list)
    """In order of their PRODUCERs."""

    def closing_before(self, seq: int) -> bool:
        """Return whether the event that ends the line had come before event `seq`."""
        return self.closing is not None and self.closing.seq < seq

    def last_session(self, seq: int) -> ProducerSession | None:
        """Return the last session that had been asked for before event `seq`."""
        place = bisect_left(self.sessions, seq, key=lambda one: one.request.seq)
        return self.sessions[place - 1] if place else None

    def sent_before(self, seq: int) -> Iterator[Unit]:
        """Yield the units that had left for the first time before event `seq`."""
        return takewhile(lambda unit: unit.first.seq < seq, self.units)

    @property
    def admitted(self) -> bool:
        """A broker let it in on one of its sessions."""
        return any(session.ready is not None for session in self.sessions)

    def __str__(self) -> str:
        return f"producer {self.handle} ({self.name})" if self.handle is not None else f"producer {self.name}"


class OddAnswer(NamedTuple):
    """An answer to a SEND that is no receipt for the head of its producer's queue. `unit`: what it names, if anything;
    `waited`: that had no answer yet on this connection; `head`: what was the head of the queue then."""

    frame: Frame
    session: ProducerSession
    unit: Unit | None
    head: Unit | None
    waited: bool


class Resent(NamedTuple):
    """A unit that left again. `furthest`: of the units that had left on this session by then, itself included, the one
    furthest back in the queue, and its SEND."""

    unit: Unit
    session: ProducerSession
    frame: Frame
    furthest: tuple[Unit, Frame]


@dataclass(slots=True, eq=False)
class Lines:
    """The lines of one attempt. `unit` is that of the SEND or receipt just seen; `stale`: the receipt fits no SEND."""

    foresight: Foresight
    case_number: int = -1
    all: list[Line] = field(default_factory=list)
    odd_answers: list[OddAnswer] = field(default_factory=list)
    resent: list[Resent] = field(default_factory=list)
    unannounced: list[Frame] = field(default_factory=list)
    """SENDs of producers that no PRODUCER announced on their connections."""
    unit: Unit | None = None
    again: bool = False
    """The SEND just seen was of a unit sent before."""
    stale: bool = False
    head: Unit | None = None
    """What was the head of the client's queue when the answer just seen was written."""
    by_message: dict[tuple[int, int], Unit] = field(default_factory=dict)
    """(producer handle, number) -> the unit it first left in."""
    openings: dict[int, Invoke] = field(default_factory=dict)
    """Producer handle -> its open_producer."""
    stored: dict[int, dict[str, list[tuple[Content, Stored]]]] = field(default_factory=dict)
    """Producer handle -> topic -> messages of its that are stored, in order."""
    unclaimed: dict[str, list[tuple[Content, Stored]]] = field(default_factory=dict)
    """Topic -> stored messages that nothing says whose they are."""
    burst: set[int] = field(default_factory=set)
    """Handles that sent a burst: their single messages are not in the history."""
    closings: dict[int, HandleEnd] = field(default_factory=dict)
    """Producer handle -> what ends it."""
    forged_sends: set[int] = field(default_factory=set)
    """Handles a SEND of which a fault altered or made up."""
    forged_answers: dict[Line | None, Frame] = field(default_factory=dict)
    """Whose SENDs a fault altered an answer to, or made one up -> the first of them."""
    torn_since: dict[int, int] = field(default_factory=dict)
    """Handles of `torn_sends`, and the event that showed it."""
    torn_sends: set[int] = field(default_factory=set)
    """Handles a SEND of which a fault took out of its stream, moved or repeated, where the stream went on without it;
    or the receipt of a chunk of which it repeated. No network does that, and no client can keep order, or avoid a loss
    by deduplication, against it."""
    reuses_ids: set[int] = field(default_factory=set)
    """Handles that gave one sequence id to two messages, or chosen ids that do not rise: what becomes of the one may be
    reported of the other."""
    reused_since: dict[int, int] = field(default_factory=dict)
    """The same -> number (`seq`) of the SEND that showed it."""
    _failed: set[int] = field(default_factory=set)
    """Handles a send of which failed, and nothing says in which unit, or in which others as well, it was."""
    _open: Openings = field(default_factory=Openings)
    _of_handle: dict[int, list[Line]] = field(default_factory=dict)
    _by_handle: dict[tuple[int, str], Line] = field(default_factory=dict)
    _by_place: dict[tuple[int, int, int, object], tuple[Unit, ...]] = field(default_factory=dict)
    """More than one where an id was used again."""
    _small: dict[tuple[str, int], list[Line]] = field(default_factory=dict)
    """(topic, checksum) of a SEND with payloads too small for an identity -> who sent it."""

    def release(self) -> None:
        """Let go of the sessions: lines refer to their units and sessions, and these to them."""
        for line in self.all:
            for session in line.sessions:
                session.line = None
                session.queue.clear()
                session.waiting.clear()
            line.units.clear()
            line.latest.clear()

    # --- agent ---

    def invoked(self, event: Invoke) -> None:
        if event.handle is None:
            return
        if event.verb == "open_producer":
            self.openings[event.handle] = event
            self._open.add(event)
        elif event.verb == "burst":
            self.burst.add(event.handle)
        elif event.verb == "close":
            self._part(event)

    def killed(self, event: AgentEnded) -> None:
        """Note that the process of every producer so far is dead."""
        self._part(event)

    def _part(self, event: HandleEnd) -> None:
        for handle in self._open.ended_by(event):
            self.closings.setdefault(handle, event)
            for line in self.of_handle(handle):
                line.closing = self.closings[handle]

    def failed(self, handle: int, number: int) -> None:
        """Note that a send completed, and not as a success."""
        unit = self.by_message.get((handle, number))
        if unit is not None:
            unit.given_up = True
        if unit is None or _is_chunk(unit.first):
            self._failed.add(handle)

    # --- wire ---

    def registered(self, session: ProducerSession) -> None:
        """Take a PRODUCER frame in: it continues the line to which it belongs, or begins one."""
        self._join(session, self._line(session, self.foresight.owners.get(session.request.seq)))

    def admitted(self, session: ProducerSession, name: str | None) -> None:
        """Take a PRODUCER_SUCCESS in, which may name the producer, whether it is admitted or has to wait."""
        session.name = name
        if session.line is not None:
            session.line.name = name or session.line.name

    def sent(self, session: ProducerSession | None, event: Frame) -> None:
        """Take a SEND in as the client wrote it. `unit` stays None when no PRODUCER announced it."""
        if session is None:
            self.unit = None
            self.unannounced.append(event)
            return
        session.first_send = session.first_send or event
        members = event.members
        handle = self.handle_of(members[0], session.topic) if members else None
        line = self._line_of(session, handle)
        # Of one message that is known `numbers` would find out the same once more.
        if handle is None or len(members) > 1:
            numbers = self.numbers(members, session.topic)
        else:
            numbers = (members[0].identity.number,)  # type: ignore[union-attr]
        unit = self._known(line, session, event, numbers)
        self.again = unit is not None
        if unit is None:
            unit = self._new(line, session, event, numbers)
        else:
            unit.session = session
            unit.sends.append((session, event))
            if event.unit != unit.first.unit:
                self._note_small(line, event, numbers)
            if numbers and not unit.numbers:
                unit.numbers = numbers
        session.waiting.add(event.sequence_id or 0, unit)
        session.queue.append(unit)
        if session.furthest is None or unit.index > session.furthest[0].index:
            session.furthest = (unit, event)
        if self.again:
            self.resent.append(Resent(unit, session, event, session.furthest))
        self.unit = unit

    def first(self, event: Frame) -> Unit | None:
        """Return the unit of the SEND just seen where it leaves for the first time, and its producer is known."""
        known = self.unit is not None and self.unit.line.handle is not None
        return self.unit if known and event.from_sender and not self.again else None

    def answered(self, session: ProducerSession | None, event: Frame) -> None:
        """Take a SEND_RECEIPT or SEND_ERROR in as it was written to the client."""
        self.unit, self.head, self.stale = None, None, False
        if session is None or session.line is None:
            return
        queue = session.queue
        while (head := queue.head) is not None and head.given_up:
            queue.take(head)
        self.head = head
        self.unit = session.waiting.take(event.sequence_id or 0)
        if self.unit is None:
            self.stale = True
            self.unit = None if event.sequence_id is None else session.line.latest.get(event.sequence_id)
        if self.stale or self.unit is not head or event.command != "SEND_RECEIPT":
            self.odd_answers.append(OddAnswer(event, session, self.unit, head, not self.stale))
        if self.stale or self.unit is None:
            return
        if event.command == "SEND_RECEIPT":
            self.unit.receipts += (event,)
        else:
            self.unit.errors += (event,)
        queue.take(self.unit)

    def forged(self, session: ProducerSession | None, event: Frame) -> None:
        """Note a SEND that a fault altered or made up: the client did not write its fields."""
        self.forged_sends.update(member.identity.handle for member in event.members if member.identity)
        if session is not None and session.line is not None and session.line.handle is not None:
            self.forged_sends.add(session.line.handle)

    def torn(self, session: ProducerSession, shown_by: Frame) -> None:
        """Note that a SEND of this session is missing from its stream, or not at its place."""
        self._tears(session.line, shown_by)

    def receipted_twice(self, receipt: Frame) -> None:
        """Note that a fault repeated the receipt just seen.

        That of a chunk looks like the next chunk's, and ends a message early that is not stored yet.
        """
        if self.unit is not None and _is_chunk(self.unit.first):
            self._tears(self.unit.line, receipt)

    def _tears(self, line: Line | None, shown_by: Frame) -> None:
        if line is not None and line.handle is not None:
            self.torn_sends.add(line.handle)
            self.torn_since.setdefault(line.handle, shown_by.seq)

    def numbers(self, members: tuple[Member, ...], topic: str) -> tuple[int, ...]:
        """Return the message numbers inside, when every one is a payload of this Case's."""
        numbers = tuple(self.known_numbers(members, topic))
        return numbers if len(numbers) == len(members) else ()

    def known_numbers(self, members: tuple[Member, ...], topic: str) -> Iterator[int]:
        """Yield the numbers of those messages inside that are payloads of this Case's: an empty one cannot be known."""
        for member in members:
            if member.identity is not None and self.handle_of(member, topic) is not None:
                yield member.identity.number

    def handle_of(self, member: Member, topic: str) -> int | None:
        """Return the producer that wrote this message to `topic`.

        A consumer's copy of it for a retry or dead letter topic has its identity, too, and has no owner.
        """
        identity = member.identity
        opening = None if identity is None else self.openings.get(identity.handle)
        if identity is None or opening is None or identity.case != self.case_number:
            return None
        base = base_topic(topic)
        return identity.handle if opening.args.get("topic", base) == base else None

    def _line_of(self, session: ProducerSession, handle: int | None) -> Line:
        """Return the session's line, unless the payload is of another producer, which uses the session as well."""
        line = session.line
        if line is None or handle not in (None, line.handle):
            line = self._line(session, handle)
            self._join(session, line)
        return line

    def _line(self, session: ProducerSession, handle: int | None) -> Line:
        line = None if handle is None else self._by_handle.get((handle, session.topic))
        if line is None:
            line = Line(session.topic, session.name, handle)
            self.all.append(line)
            if handle is not None:
                self._of_handle.setdefault(handle, []).append(line)
                line.closing = self.closings.get(handle)
                self._by_handle[handle, session.topic] = line
        return line

    def _join(self, session: ProducerSession, line: Line) -> None:
        if session.line is not None and session in session.line.sessions:
            session.line.sessions.remove(session)
        session.line = line
        insort(line.sessions, session, key=_since)
        line.name = session.name or line.name

    def _known(self, line: Line, session: ProducerSession, event: Frame, numbers: tuple[int, ...]) -> Unit | None:
        if numbers and line.handle is not None and not _is_chunk(event):
            return self.by_message.get((line.handle, numbers[0]))
        there = [one for one in self._by_place.get(self._place(line, event), ()) if not self._is_of_another(one, event)]
        same = next((unit for unit in reversed(there) if unit.first.unit == event.unit), None)
        alike = (unit for unit in reversed(there) if differs_in_publish_time_alone(unit.first, event))
        same = same or next(alike, None)
        if same is not None or not there:
            return same
        # Other bytes under an id that has its receipt, or whose message may have failed, or that has left on this
        # session: the id is used again. What has none of that would have been cut again.
        last = there[-1]
        over = bool(last.receipts) or last.sent_on(session) is not None or self._may_have_failed(line.handle, event)
        return None if over or self._receipted_on_unknown_session(last) else last

    def _is_of_another(self, unit: Unit, event: Frame) -> bool:
        """Return whether this chunk is of another message than the unit, whatever both go by."""
        of, mine = (self.foresight.chunk_of.get(frame.seq) for frame in (unit.first, event))
        return of is not None and mine is not None and of != mine

    def _receipted_on_unknown_session(self, unit: Unit) -> bool:
        """Return whether the same bytes have a receipt on a session of unknown owner: it may be this one's."""
        others = (line for line in self.all if line.handle is None and line.topic == unit.line.topic)
        units = (sent for line in others for sent in line.units if sent.receipts and unit.first.unit is not None)
        return any(_is_same(sent.first, unit.first) for sent in units)

    def _may_have_failed(self, handle: int | None, event: Frame) -> bool:
        """Return whether a send without known unit failed; or any, where its agent reported that after this frame."""
        if handle is None or handle in self._failed:
            return handle is not None
        late = (end for end in self.foresight.failed_sends.get(handle, ()) if end.seq > event.seq)
        return any(end.done_ns is not None and end.done_ns <= event.t_ns for end in late)

    def _place(self, line: Line, event: Frame) -> tuple[int, int, int, object]:
        """Return what distinguishes a unit from others of its line where its messages are not known."""
        chunk = event.meta.chunk_id if event.meta is not None else None
        content = _content(event) if line.handle in self.foresight.explicit else None
        return (id(line), event.sequence_id or 0, -1 if chunk is None else chunk, content)

    def _new(self, line: Line, session: ProducerSession, event: Frame, numbers: tuple[int, ...]) -> Unit:
        unit = Unit(line, len(line.units), event, session, numbers, [(session, event)])
        line.units.append(unit)
        line.latest[unit.sequence_id] = unit
        if line.handle is not None and (event.meta is None or not event.meta.chunk_id):
            self._number(line, line.handle, unit)
        if _is_chunk(event) or not numbers:
            place = self._place(line, event)
            self._by_place[place] = (*self._by_place.get(place, ()), unit)
        if line.handle is not None:
            for number in numbers:
                self.by_message.setdefault((line.handle, number), unit)
        self._note_small(line, event, numbers)
        return unit

    def _note_small(self, line: Line, event: Frame, numbers: tuple[int, ...]) -> None:
        """Remember whose bytes these are, where no message in them has an identity."""
        if not numbers and event.unit is not None and any(member.identity is None for member in event.members):
            self._small.setdefault((line.topic, event.unit), []).append(line)

    def _number(self, line: Line, handle: int, unit: Unit) -> None:
        """Note the sequence ids that a unit uses.

        A client's own ids may rise in any order of its batches, as those by key do. Chosen ones have to rise from
        message to message: a receipt may name any id of a batch's range, and what is out of turn may lie in it. A first
        chunk names no message, and its SEND names its id.
        """
        if handle not in self.foresight.explicit:
            if unit.sequence_id in line.ids_used:
                self._reuses(handle, unit)
            line.ids_used.add(unit.sequence_id)
            return
        chosen = [member.sequence_id for member in unit.first.members]
        for id in [unit.sequence_id if id is None else id for id in chosen or (None,)]:
            if id <= line.highest_id:
                self._reuses(handle, unit)
            line.highest_id = max(line.highest_id, id)

    def _reuses(self, handle: int, unit: Unit) -> None:
        self.reuses_ids.add(handle)
        self.reused_since.setdefault(handle, unit.first.seq)

    # --- broker ---

    def appended(self, event: Stored) -> None:
        for member in event.members:
            handle = self.handle_of(member, event.topic)
            if handle is None and member.identity is None:
                handle = self._sender_of(event)
            entry = ((member.digest, member.size), event)
            if handle is not None:
                self.stored.setdefault(handle, {}).setdefault(event.topic, []).append(entry)
            elif member.identity is None:
                self.unclaimed.setdefault(event.topic, []).append(entry)

    def _sender_of(self, event: Stored) -> int | None:
        """Return whose SEND was the same bytes; None where that is unknown, or may be two producers'."""
        handles = {line.handle for line in self._small.get((event.topic, event.unit), ())}
        return handles.pop() if len(handles) == 1 else None

    def possibly_of(self, handle: int, topic: str) -> frozenset[Content]:
        """Return stored messages of a topic, all partitions included, that may be this producer's or another one's."""
        return frozenset(
            content
            for name, entries in self.unclaimed.items()
            if base_topic(name) == topic
            for content, entry in entries
            if entry.described is None or self.foresight.may_be_called(handle, entry.described.producer_name, name)
        )

    @property
    def unpaired(self) -> set[int]:
        """Return handles whose receipts cannot be paired with their SENDs: what came twice has two, and so has an
        id."""
        return self.torn_sends | self.reuses_ids

    def of_handle(self, handle: int) -> Iterator[Line]:
        return iter(self._of_handle.get(handle, ()))


def _since(session: ProducerSession) -> int:
    return session.request.seq


def _is_chunk(event: Frame) -> bool:
    return event.meta is not None and event.meta.chunk_id is not None


def differs_in_publish_time_alone(first: Frame, again: Frame) -> bool:
    """Return whether two SENDs are the same but for the time at which each left.

    Some clients write that into the metadata. Metadata and messages are compared as far as the history shows them.
    """
    if first.meta is None or again.meta is None or first.meta.publish_time_ms == again.meta.publish_time_ms:
        return False
    later = replace(first.meta, publish_time_ms=again.meta.publish_time_ms)
    # A last chunk brings the joined message once.
    same_messages = first.meta.chunk_id is not None or first.members == again.members
    return same_messages and (later, first.size) == (again.meta, again.size)


def _is_same(first: Frame, again: Frame) -> bool:
    return first.unit == again.unit or differs_in_publish_time_alone(first, again)


def _content(event: Frame) -> object:
    """Return what distinguishes the message in a SEND from others under its id, whenever it leaves."""
    digests, meta = tuple(member.payload for member in event.members), event.meta
    named = None if meta is None else (meta.uuid, meta.key, meta.ordering_key, meta.property_digests)
    return (event.size, digests, named)


def is_duplicate(receipt: Frame) -> bool:
    """Return whether the receipt says that the SEND was stored before."""
    return bool(receipt.ids) and receipt.ids[0].is_duplicate_marker


def has_own_ids(unit: Unit) -> bool:
    """Return whether each message has an id.

    In a batch that carries none for its messages they may share that of the entry, and what the client has given out is
    not known.
    """
    members = unit.first.members
    return len(members) < 2 or any(member.sequence_id is not None for member in members)


def last_id(unit: Unit) -> int:
    """Return the sequence id of its last message, as a client that numbers by itself gives them out."""
    return unit.sequence_id + max(len(unit.numbers), 1) - 1
