"""Messages in chunks that a consumer may give up, as its settings say.

One that keeps only so many of them incomplete gives up the oldest, one that waits only so long what takes longer, and
what it gave up may be settled unread: acknowledged by the client itself where the settings say so, or covered by the
next cumulative acknowledgment of a later message (PIP 37). Which messages were incomplete together, and for how long,
the frames to the consumers tell. A message between whose chunks others are stored may be settled in part by such an
acknowledgment, and a consumer that comes back then never gets the rest of it whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from assay_conformance.judging.tolerance import MS, TOLERANCES
from assay_conformance.ledger.clauses import MOST_INCOMPLETE
from assay_conformance.ledger.from_history.messages import Messages
from assay_conformance.ledger.from_history.sorting import Sorted
from assay_conformance.ledger.from_history.subscribers import setting, setting_number
from assay_conformance.model.case import Case
from assay_conformance.model.event import Frame, Invoke, Position, Received
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.topic_names import base_topic, named_topics, partition_name

_EARLY_NS = TOLERANCES["wall-clock"].slack_ns
"""By so much sooner a client may take a message for expired."""

Chunked = tuple[str, str]
"""Topic or partition, and uuid."""


def mark(found: Messages, events: Sorted, case: Case, facts: ClientFacts) -> None:
    """Mark the messages that a consumer may have settled without handing them over, for lack of room or time."""
    if not found.chunks:
        return
    watch = _Watch(found, events, _terms(events, case, facts))
    shown: list[Frame | Received] = [*events.events.frames("SUBSCRIBE"), *events.chunks_sent, *events.received]
    for event in sorted(shown, key=attrgetter("seq")):
        watch.see(event)
    watch.ended()
    for message in found.all if watch.given_up else ():
        names = {(entry.topic, entry.meta.uuid) for entry, _, _ in message.copies}
        message.damaged = message.damaged or not names.isdisjoint(watch.given_up)


class _Terms(NamedTuple):
    """Of the consumers of a topic, what gives up most. `most`: so many incomplete messages, 0 any number;
    `settled`: what is given up for room may be acknowledged; `cumulative`: by its application."""

    most: int
    expiry_ns: int
    settled: bool
    cumulative: bool

    def joined(self, other: _Terms) -> _Terms:
        return _Terms(
            _least(self.most, other.most),
            _least(self.expiry_ns, other.expiry_ns),
            self.settled or other.settled,
            self.cumulative or other.cumulative,
        )


def _least(one: int, other: int) -> int:
    return min(one, other) if one and other else one or other


def _terms(events: Sorted, case: Case, facts: ClientFacts) -> dict[str, _Terms]:
    """Return the terms by topic, without partition."""
    cumulative = {event.handle for event in events.invokes if event.args.get("cumulative")}
    found: dict[str, _Terms] = {}
    for opening in events.calls("open_consumer"):
        mine = _terms_of(opening, case, facts, cumulative=opening.handle in cumulative)
        for full in named_topics(opening.args, case.topology.topics[0].name):
            topic = base_topic(events.topic(str(full)))
            found[topic] = mine.joined(found[topic]) if topic in found else mine
    return found


def _terms_of(opening: Invoke, case: Case, facts: ClientFacts, *, cumulative: bool) -> _Terms:
    limit = setting(case, facts, opening, "max_pending_chunked_messages")
    expiry_ms = setting_number(case, facts, opening, "expire_incomplete_chunked_ms") or 0
    settled = cumulative or bool(setting(case, facts, opening, "auto_ack_oldest_chunked"))
    most = MOST_INCOMPLETE if limit is None else int(limit) if isinstance(limit, int | float) else 0
    return _Terms(most, expiry_ms * MS, settled, cumulative)


@dataclass(slots=True)
class _Buffer:
    """What a subscription's consumers may hold of a topic: uuid -> when it began, in ns. `unread`: its last chunk left
    for the client, and its application has not got it."""

    incomplete: dict[str, int] = field(default_factory=dict)
    unread: dict[str, int] = field(default_factory=dict)


class _Watch:
    """Shown subscriptions, chunks on their way to consumers, and messages delivered."""

    def __init__(self, found: Messages, events: Sorted, terms: dict[str, _Terms]) -> None:
        self.given_up: set[Chunked] = set()
        self._events = events
        self._terms = terms
        self._buffers: dict[tuple[str, str], _Buffer] = {}
        self._readers: dict[tuple[int, int | None], tuple[str, str]] = {}
        """(connection, consumer id) -> topic and subscription."""
        self._next: dict[tuple[int, int | None, str], int] = {}
        self._unix_ns = 0 if events.began is None else events.began.unix_ms * MS
        self._whole = {
            (topic, entry.id.position): uuid for (topic, uuid), entries in found.chunks.items() for entry in entries
        }
        self._mixed = _mixed(found, events)

    def see(self, event: Frame | Received) -> None:
        if isinstance(event, Received):
            self._handed_over(event)
        elif event.command == "SUBSCRIBE":
            self._subscribed(event)
        else:
            self._came(event)

    def ended(self) -> None:
        for (topic, _), buffer in self._buffers.items():
            self._expire(topic, buffer, self._events.ended_ns)

    def _subscribed(self, event: Frame) -> None:
        topic = self._events.topic(str(event.fields.get("topic", "")))
        place = (topic, str(event.fields.get("subscription", "")))
        self._readers[event.conn, event.consumer_id] = place
        for known in [known for known in self._next if known[:2] == (event.conn, event.consumer_id)]:
            del self._next[known]
        buffer, terms = self._buffers.setdefault(place, _Buffer()), self._terms.get(base_topic(topic))
        buffer.incomplete = buffer.unread | buffer.incomplete
        buffer.unread.clear()
        if terms is not None and terms.cumulative:
            self._give_up(topic, (uuid for uuid in buffer.incomplete if (topic, uuid) in self._mixed))

    def _came(self, event: Frame) -> None:
        place, meta = self._readers.get((event.conn, event.consumer_id)), event.meta
        if place is None or meta is None or meta.uuid is None:
            return
        topic, uuid, number = place[0], meta.uuid, meta.chunk_id or 0
        buffer, terms = self._buffers[place], self._terms.get(base_topic(topic))
        if terms is None:
            return
        known = (event.conn, event.consumer_id, uuid)
        in_turn = number == 0 or self._next.get(known) == number
        self._next[known] = number + 1
        published_ns = meta.publish_time_ms * MS - self._unix_ns
        if terms.expiry_ns and not in_turn and published_ns + terms.expiry_ns <= event.t_ns + _EARLY_NS:
            self._give_up(topic, (uuid,))
        self._expire(topic, buffer, event.t_ns)
        if number + 1 == meta.chunks and event.to_receiver:
            buffer.unread[uuid] = buffer.incomplete.pop(uuid, event.t_ns)
            return
        buffer.incomplete.setdefault(uuid, event.t_ns)
        if terms.settled and 0 < terms.most < len(buffer.incomplete):
            self._give_up(topic, buffer.incomplete)

    def _handed_over(self, event: Received) -> None:
        topic = partition_name(base_topic(self._events.topic(event.topic or "")), event.message_id.partition)
        uuid = self._whole.get((topic, event.message_id.position))
        if uuid is not None:
            for (where, _), buffer in self._buffers.items():
                if where == topic:
                    buffer.unread.pop(uuid, None)

    def _expire(self, topic: str, buffer: _Buffer, now_ns: int) -> None:
        terms = self._terms.get(base_topic(topic))
        if terms is not None and terms.expiry_ns:
            due_ns = now_ns - terms.expiry_ns + _EARLY_NS
            self._give_up(topic, (uuid for uuid, began_ns in buffer.incomplete.items() if began_ns <= due_ns))

    def _give_up(self, topic: str, uuids: Iterable[str]) -> None:
        self.given_up.update((topic, uuid) for uuid in uuids)


def _mixed(found: Messages, events: Sorted) -> set[Chunked]:
    """Return the messages between whose chunks others are stored."""
    places: dict[str, list[Position]] = {}
    for entry in events.stored:
        places.setdefault(entry.topic, []).append(entry.id.position)
    mixed = set()
    for (topic, uuid), entries in found.chunks.items():
        mine = [entry.id.position for entry in entries]
        first, last = min(mine), max(mine)
        if sum(first <= place <= last for place in places[topic]) > len(set(mine)):
            mixed.add((topic, uuid))
    return mixed
