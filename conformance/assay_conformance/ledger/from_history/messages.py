"""Messages: what was asked for, what came of it, and where it is stored.

A message of a producer is known by its identity, one that the bench put into the store by its place. A stream is one
of them on one partition; the partition of a message that is not stored is unknown, and it stands in a stream of its
producer without a partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import NamedTuple

from assay_conformance.ledger.certificates import of_outcomes
from assay_conformance.ledger.from_history.sorting import Sorted
from assay_conformance.ledger.rows import Attempt, Key, Outcome, Stored, Stream
from assay_conformance.ledger.tables import NONE, Result
from assay_conformance.model.case import Case, Who
from assay_conformance.model.event import Completion, Event, Identity, Invoke, Member, MessageId, Position
from assay_conformance.model.event import Outcome as Ending
from assay_conformance.model.event import Stored as StoredEvent
from assay_conformance.model.topic_names import base_topic, partition_name

NS_PER_US = 1_000
_OK = Result.OK
"""As in `model.event`: members of enums are slow to find, and every message is asked."""
CODES = {Ending.OK: Result.OK, Ending.FAIL: Result.FAIL, Ending.UNKNOWN: Result.UNKNOWN}
SMALLEST_KNOWN = 16
"""Bytes below which a payload has no identity."""

Owner = tuple[str, str]
"""Kind and name of who sent: a producer by its handle, or the bench by the producer name it wrote."""


def signed(crc: int) -> int:
    """Return a CRC-32 as the signed 32-bit number of the tables."""
    return crc - (1 << 32) if crc >= 1 << 31 else crc


@dataclass(slots=True)
class Message:
    owner: Owner
    place: int
    """In the order of its owner's messages."""
    invoke: Invoke | None = None
    end: Completion | None = None
    copies: list[tuple[StoredEvent, Member, int]] = field(default_factory=list)
    """Entries that hold it, and its index inside, -1 where it is alone."""
    events: list[Event] = field(default_factory=list)
    left_out: bool = False
    damaged: bool = False
    """A consumer may have settled it without handing it over."""
    invented: bool = False
    """Stored under a producer's name, and never asked for."""
    stream: int = NONE
    seq: int = NONE

    @property
    def digest(self) -> int:
        if self.invoke is not None:
            return self.invoke.digest or 0
        return self.copies[0][1].digest


@dataclass(slots=True)
class Messages:
    """`at`: (topic, position, batch index) -> the message there."""

    all: list[Message] = field(default_factory=list)
    by_identity: dict[Identity, Message] = field(default_factory=dict)
    at: dict[tuple[str, Position, int], Message] = field(default_factory=dict)
    unknown: set[tuple[str, Position]] = field(default_factory=set)
    """Entries that hold something that is left out."""
    unread: set[tuple[str, Position]] = field(default_factory=set)
    """Those of them whose codec cannot unpack their body: what was sent may be in any."""
    chunks: dict[tuple[str, str], list[StoredEvent]] = field(default_factory=dict)
    """(topic, uuid) -> the entries of a message in chunks."""
    streams: dict[tuple[Owner, str], Stream] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    """Local name -> row of `topic`."""
    keys: dict[str, int] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    """Topics of messages whose sends have ended."""
    incomplete: set[str] = field(default_factory=set)
    """Topics of messages that are left out, or of producers whose messages get no rows."""
    forged: set[int] = field(default_factory=set)
    """Producer handles whose outcomes rest on what a fault may have made up."""
    choosing: set[int] = field(default_factory=set)
    """Producer handles whose application says which sequence ids its messages have, or with which they begin; or that
    had the name of another one beside it, and so gave out ids that the broker knew of that one."""

    def topic_number(self, name: str) -> int:
        return self.topics.setdefault(name, len(self.topics))

    def key_number(self, key: str | None) -> int:
        return NONE if key is None else self.keys.setdefault(key, len(self.keys))

    def key_rows(self) -> dict[int, Key]:
        return {number: Key(number, text) for text, number in self.keys.items()}


def collect(sorted_events: Sorted, case: Case) -> Messages:
    """Return every message of which rows can be made, in its stream."""
    found = Messages()
    producers = _producers(sorted_events, case)
    found.choosing = _choosing(sorted_events, case) | _of_shared_names(sorted_events, producers)
    first = case.topology.topics[0].name
    found.forged = sorted_events.forgeries.concerned(sorted_events.invokes, sorted_events.local, first)
    _asked_for(found, sorted_events, producers)
    _stored(found, sorted_events, case, producers)
    _number(found, sorted_events, producers)
    return found


class _Producer(NamedTuple):
    owner: Owner
    topic: str
    judged: bool


def _producers(events: Sorted, case: Case) -> dict[int, _Producer]:
    """Handle -> its topic, and whether its messages get rows."""
    bursting = {event.handle for verb in ("burst", "produce") for event in events.calls(verb)}
    stores_nothing = {topic.name for topic in case.topology.topics if not topic.persistent}
    found = {}
    for event in events.calls("open_producer"):
        if event.handle is not None:
            topic = events.topic(str(event.args.get("topic", case.topology.topics[0].name)))
            judged = topic not in stores_nothing and event.handle not in bursting
            found[event.handle] = _Producer(("producer", str(event.handle)), topic, judged)
    return found


def _choosing(events: Sorted, case: Case) -> set[int]:
    numbered = (event.handle for event in events.calls("send") if "sequence_id" in event.args)
    begun = (
        event.handle
        for event in events.calls("open_producer")
        if "initial_sequence_id" in (case.config.producer | (event.args.get("config") or {}))
    )
    return {handle for handle in (*numbered, *begun) if handle is not None}


def _of_shared_names(events: Sorted, producers: dict[int, _Producer]) -> set[int]:
    """Return the producers that had one name at one time."""
    by_name: dict[tuple[str, str], list[Invoke]] = {}
    for opening in events.calls("open_producer"):
        if opening.handle is not None and opening.handle in producers:
            for name in events.forgeries.named.get(opening.handle, ()):
                by_name.setdefault((producers[opening.handle].topic, name), []).append(opening)
    return {handle for openings in by_name.values() for handle in _beside_another(openings, events)}


def _beside_another(openings: Sequence[Invoke], events: Sorted) -> Iterator[int]:
    """Yield the handles of producers that were open while another one was. `openings`: in order."""
    last_end = -1.0
    for opening, later in zip(openings, [*openings[1:], None], strict=True):
        assert opening.handle is not None
        end = events.parted.get(opening.handle)
        until = inf if end is None else end.seq
        if opening.seq <= last_end or (later is not None and later.seq <= until):
            yield opening.handle
        last_end = max(last_end, until)


def _asked_for(found: Messages, events: Sorted, producers: dict[int, _Producer]) -> None:
    case_number = NONE if events.began is None else events.began.number
    touched = events.touched
    found.incomplete |= {producer.topic for producer in producers.values() if not producer.judged}
    for invoke in events.calls("send"):
        if invoke.handle is None or invoke.number is None:
            continue
        producer = producers.get(invoke.handle)
        end = events.ends.get(invoke.op)
        if producer is None or not producer.judged or (end is not None and end.outcome not in CODES):
            continue
        identity = Identity(case_number, invoke.handle, invoke.number)
        evidence: list[Event] = [invoke] if end is None else [invoke, end]
        message = Message(producer.owner, invoke.number, invoke, end, events=evidence)
        message.left_out = (invoke.size or 0) < SMALLEST_KNOWN or (bool(touched) and identity in touched)
        found.all.append(message)
        found.by_identity[identity] = message
        if message.left_out:
            found.incomplete.add(producer.topic)
        if end is not None:
            found.ended.add(producer.topic)


def _stored(found: Messages, events: Sorted, case: Case, producers: dict[int, _Producer]) -> None:
    by_bench = {
        base_topic(str(step.args.get("topic", case.topology.topics[0].name)))
        for step in case.steps
        if step.who is Who.BROKER and step.verb == "store_entries"
    }
    for entry in events.stored:
        if entry.described is None:
            found.unknown.add((entry.topic, entry.id.position))
            continue
        if entry.meta.chunk_id is not None and entry.meta.uuid is not None:
            found.chunks.setdefault((entry.topic, entry.meta.uuid), []).append(entry)
        base = base_topic(entry.topic)
        position = entry.id.position
        where = (entry.topic, position)
        if not entry.members and entry.meta.chunk_id is None:
            found.unknown.add(where)
        if entry.meta.is_unread:
            found.unread.add(where)
        for index, member in enumerate(entry.members):
            batch = NONE if entry.meta.batch is None else index
            message = _message_of(found, events, producers, entry, member, base, by_bench)
            if message is None:
                found.unknown.add(where)
                continue
            message.copies.append((entry, member, batch))
            message.events.append(entry)
            message.left_out = message.left_out or position in events.touched_positions
            message.damaged = message.damaged or position in events.damaged_positions
            if message.left_out and message.invoke is not None and message.invoke.handle is not None:
                found.incomplete.add(producers[message.invoke.handle].topic)
            found.at[entry.topic, position, max(batch, 0)] = message
    for message in found.all if found.chunks else ():
        parts = {chunk.id.position for entry, _, _ in message.copies for chunk in _chunks_of(found, entry)}
        message.left_out = message.left_out or not parts.isdisjoint(events.touched_positions)
        message.damaged = message.damaged or not parts.isdisjoint(events.damaged_positions)


def _chunks_of(found: Messages, entry: StoredEvent) -> list[StoredEvent]:
    return [] if entry.meta.uuid is None else found.chunks.get((entry.topic, entry.meta.uuid), [])


def _message_of(
    found: Messages,
    events: Sorted,
    producers: dict[int, _Producer],
    entry: StoredEvent,
    member: Member,
    base: str,
    by_bench: set[str],
) -> Message | None:
    identity = member.identity
    if identity is not None and (message := found.by_identity.get(identity)) is not None:
        # A copy on another topic is a letter.
        return message if producers[identity.handle].topic == base else None
    invented = base not in by_bench and _is_invented(found, producers, entry, member, base)
    raw = base in by_bench and entry.meta.producer_name not in events.names and not member.compacted_out
    if not raw and not invented:
        return None
    message = Message(("bench", entry.meta.producer_name), len(found.all), invented=invented)
    found.all.append(message)
    return message


def _is_invented(
    found: Messages, producers: dict[int, _Producer], entry: StoredEvent, member: Member, base: str
) -> bool:
    """Return whether an entry carries a payload that no producer sent.

    That is a readable one without identity, under the name of a producer, on a topic all of whose messages have an
    identity.
    """
    known = base in found.ended and base not in found.incomplete
    unread = member.identity is None or member.identity.handle not in producers
    return known and unread and entry.meta.chunk_id is None


def _number(found: Messages, events: Sorted, producers: dict[int, _Producer]) -> None:
    """Give every message its stream, and its number there."""
    counts: dict[int, int] = {}
    for entry in events.stored:
        found.topic_number(entry.topic)
    for name in sorted(events.read_back):
        found.topic_number(name)
    for message in sorted(found.all, key=attrgetter("owner", "place")):
        if message.left_out:
            continue
        topic = _topic_of(message, producers)
        stream = found.streams.get((message.owner, topic))
        if stream is None:
            number, name = len(found.streams), message.owner[1]
            stream = Stream(number, name, found.topic_number(topic))
            found.streams[message.owner, topic] = stream
        message.stream = stream.stream
        message.seq = counts.get(stream.stream, 0)
        counts[stream.stream] = message.seq + 1


def _topic_of(message: Message, producers: dict[int, _Producer]) -> str:
    if message.copies:
        return message.copies[0][0].topic
    base = producers[int(message.owner[1])].topic
    id = None if message.end is None else message.end.message_id
    return base if id is None else partition_name(base, id.partition)


def attempts(found: Messages, unix_ms: int) -> list[Attempt]:
    rows = []
    for message in _reported(found):
        if message.invented:
            continue
        invoke, first = message.invoke, message.copies[0] if message.copies else None
        due_ms = None if first is None else first[0].meta.deliver_at_ms
        rows.append(
            Attempt(
                message.stream,
                message.seq,
                found.key_number(first[1].key if first else None),
                (invoke.t_ns if invoke is not None else first[0].t_ns if first else 0) // NS_PER_US,
                invoke.size or 0 if invoke is not None else first[1].size if first else 0,
                signed(message.digest),
                deliver_at=None if not due_ms else (due_ms - unix_ms) * 1_000,
            )
        )
    return rows


def outcomes(found: Messages, events: Sorted) -> list[Outcome]:
    """Return the outcomes as they were reported, stream by stream, with `ord`."""
    order = {completion.op: place for place, completion in enumerate(events.completions)}
    by_stream: dict[int, list[tuple[int, Outcome]]] = {}
    for message in _reported(found):
        end = message.end
        if message.invented:
            continue
        if message.invoke is None:
            entry, _, batch = message.copies[0]
            code = Result.UNKNOWN if message.damaged else Result.OK
            row = _outcome(message, None if message.damaged else entry.id, batch, entry.t_ns, code)
            by_stream.setdefault(message.stream, []).append((message.seq, row))
        elif end is not None:
            code = _code(message, end, events, found)
            id = end.message_id if code is _OK else None
            row = _outcome(message, id, NONE if id is None else id.batch_index, end.t_ns, code)
            by_stream.setdefault(message.stream, []).append((order[end.op], row))
    rows = []
    for pairs in by_stream.values():
        heard = [row for _, row in sorted(pairs, key=lambda pair: pair[0])]
        ords = of_outcomes(heard)
        rows += [row if row.ord == ord else row._replace(ord=ord) for row, ord in zip(heard, ords, strict=True)]
    return rows


def _code(message: Message, end: Completion, events: Sorted, found: Messages) -> Result:
    """Return the result of an answer; one that a fault made up, or one to what it made up, is unknown.

    A failure of what was written twice may be that of its copy.
    """
    forged = message.invoke is not None and message.invoke.handle in found.forged
    if forged or message.damaged:
        return Result.UNKNOWN
    if events.torn_sends and _may_be_another_s(message, end, found):
        return Result.UNKNOWN
    if events.torn_chunks and not events.torn_chunks.isdisjoint(_identities(message, events)):
        return Result.UNKNOWN
    code = CODES[end.outcome]
    if code is _OK and message.copies:
        return code
    if (code is Result.FAIL and _written(message, events) > 1) or _is_nowhere_to_see(message, end, found):
        return Result.UNKNOWN
    if events.torn_uuids and _may_lack_its_last_chunk(end, events, found):
        return Result.UNKNOWN
    return code


def _may_lack_its_last_chunk(end: Completion, events: Sorted, found: Messages) -> bool:
    """Return whether a message's last chunk may never have left, so that no frame says which message it is of."""
    torn = (entries for (_, uuid), entries in found.chunks.items() if uuid in events.torn_uuids)
    return end.message_id is not None and any(
        entry.id.position == end.message_id.position for entries in torn for entry in entries
    )


def _may_be_another_s(message: Message, end: Completion, found: Messages) -> bool:
    """Return whether an answer may be meant for another message, of the same sequence id or one that overtook it."""
    if end.message_id is not None and end.message_id.is_duplicate_marker:
        return True
    return not message.copies and message.invoke is not None and message.invoke.handle in found.choosing


def _written(message: Message, events: Sorted) -> int:
    return sum(events.sends.get(identity, 0) for identity in _identities(message, events))


def _is_nowhere_to_see(message: Message, end: Completion, found: Messages) -> bool:
    """Return whether a message that was reported as stored can be found nowhere.

    Its topic cannot be read back; or, with an application that chooses the ids of its messages itself, it was taken for
    what the broker knew, or completed by the receipt of another one with its id.
    """
    id = end.message_id
    if message.copies or id is None or message.invoke is None:
        return False
    if id.is_duplicate_marker:
        return message.invoke.handle in found.choosing or bool(found.unread)
    chosen = message.invoke.args.get("sequence_id")
    there = [other for (_, where, _), other in found.at.items() if where == id.position]
    if chosen is not None and any(entry.meta.sequence_id == chosen for one in there for entry, _, _ in one.copies):
        return True
    return any(where == id.position for _, where in found.unknown)


def _identities(message: Message, events: Sorted) -> tuple[Identity, ...]:
    if message.invoke is None or events.began is None:
        return ()
    return (Identity(events.began.number, message.invoke.handle or 0, message.invoke.number or 0),)


def _outcome(message: Message, id: MessageId | None, batch: int, t_ns: int, code: Result) -> Outcome:
    known = id is not None and not id.is_duplicate_marker
    ledger, entry = (id.ledger, id.entry) if id is not None and known else (NONE, NONE)
    return Outcome(message.stream, message.seq, ledger, entry, batch if known else NONE, t_ns // NS_PER_US, code)


def stored(found: Messages) -> list[Stored]:
    rows = []
    for message in _reported(found):
        for entry, member, batch in message.copies:
            chunks = found.chunks.get((entry.topic, entry.meta.uuid or ""), []) if entry.meta.chunks else []
            for part in chunks or [entry]:
                rows.append(
                    Stored(
                        message.stream,
                        message.seq,
                        part.id.ledger,
                        part.id.entry,
                        batch,
                        part.meta.chunk_id or 0,
                        part.meta.chunks or 1,
                        signed(member.digest),
                    )
                )
    # What is recorded twice, or is a chunk of several messages, stands there once.
    return [row for row, _ in groupby(sorted(rows))]


def _reported(found: Messages) -> list[Message]:
    return [message for message in found.all if not message.left_out]
