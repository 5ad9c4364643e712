"""What a client says of messages, in the terms of what is stored.

Clients name one message differently: for a topic without partitions the partition is 0, or -1; a message of a batch
goes by its index, or by the id of its entry alone; one that is in no batch has no index, or is number 0 of 1. Checks
are shown one convention, that of `MessageId`, whichever the client has: which message of a batch one without an index
is follows from its content. What differs in more than its convention, such as a wrong index, stays as it was said. What
agent.toml says the client lacks is unknown, and not what its absence means elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from assay_conformance.model.case import Case
from assay_conformance.model.event import (
    Began,
    Completion,
    Event,
    Identity,
    Invoke,
    Member,
    MessageId,
    Position,
    Received,
    Stored,
)
from assay_conformance.model.facts import ClientFacts, Lack
from assay_conformance.model.topic_names import (
    NO_PARTITION,
    base_topic,
    is_partition,
    named_topics,
    partition_number,
    renamed,
)


def translated(events: Sequence[Event], case: Case, facts: ClientFacts) -> Sequence[Event]:
    """Return the events with what the client said of messages in the terms of what is stored.

    The same object is returned where there is nothing to translate.
    """
    translation = _Translation.of(case, facts)
    for event in events:
        if type(event) is Stored:
            translation.stored(event)
    others = {place: one for place, event in enumerate(events) if (one := translation(event)) is not event}
    return tuple(others.get(place, event) for place, event in enumerate(events)) if others else events


_Whose = tuple[int, int | None, int | None]
"""A message without an identity: of which consumer or producer, size and digest."""


@dataclass(slots=True)
class _Translation:
    """One pass over the events. `plain_topics` have no partitions; `hidden` are fields that the client does not show of
    what it receives; `entries` are the messages of each entry, None where it is no batch; `partitions` are those that
    entries are of, by topic."""

    first_topic: str
    plain_topics: frozenset[str]
    hidden: Mapping[str, None]
    local: Mapping[str, str] = field(default_factory=dict)
    number: int = -1
    entries: dict[Position, tuple[Member, ...] | None] = field(default_factory=dict)
    partitions: dict[tuple[str, Position], int] = field(default_factory=dict)
    _topics: dict[int, str] = field(default_factory=dict)
    """Handle -> the only topic it was opened on."""
    _sends: dict[int, Invoke] = field(default_factory=dict)
    _taken: dict[tuple[_Whose, Position], int] = field(default_factory=dict)
    """How many messages that are alike were named there."""

    @classmethod
    def of(cls, case: Case, facts: ClientFacts) -> _Translation:
        topics = case.topology.topics
        hidden: dict[str, None] = {Lack.REDELIVERY_COUNT.value: None} if Lack.REDELIVERY_COUNT in facts.lacks else {}
        return cls(topics[0].name, frozenset(topic.name for topic in topics if not topic.partitions), hidden)

    def __call__(self, event: Event) -> Event:
        handler = _HANDLERS.get(type(event))
        return event if handler is None else handler(self, event)

    def began(self, event: Began) -> Event:
        self.local, self.number = event.local_names, event.number
        return event

    def stored(self, event: Stored) -> None:
        if event.described is not None:
            is_batch = event.described.batch is not None
            self.entries.setdefault(event.id.position, event.members if is_batch else None)
        if is_partition(event.topic):
            self.partitions[base_topic(event.topic), event.id.position] = partition_number(event.topic)

    def invoked(self, event: Invoke) -> Event:
        if event.verb in ("open_consumer", "open_producer") and event.handle is not None:
            topics = named_topics(event.args, self.first_topic)
            if len(topics) == 1 and not event.args.get("pattern"):
                self._topics[event.handle] = renamed(str(topics[0]), self.local)
        elif event.verb == "send":
            self._sends[event.op] = event
        elif "message_id" in event.args:
            id = MessageId(*event.args["message_id"])
            named = self._whole(self._in_place(id, self._topics.get(event.handle or 0)))
            if named != id:
                args = {**event.args, "message_id": list(msgspec.structs.astuple(named))}
                return msgspec.structs.replace(event, args=args)
        return event

    def completed(self, event: Completion) -> Event:
        send = self._sends.pop(event.op, None)
        id = event.message_id
        if id is None or send is None or id.is_duplicate_marker:
            return event
        identity = None if send.number is None else Identity(self.number, send.handle or 0, send.number)
        whose = (send.handle or 0, send.size, send.digest)
        named = self._in_batch(self._in_place(id, self._topics.get(send.handle or 0)), identity, whose)
        return event if named == id else msgspec.structs.replace(event, message_id=named)

    def received(self, event: Received) -> Event:
        id = event.message_id
        topic = self._topics.get(event.handle) if event.topic is None else renamed(event.topic, self.local)
        named = self._in_batch(self._in_place(id, topic), event.identity, (event.handle, event.size, event.digest))
        fields: dict[str, Any] = {**self.hidden, **({} if named == id else {"message_id": named})}
        return msgspec.structs.replace(event, **fields) if fields else event

    def _in_place(self, id: MessageId, topic: str | None) -> MessageId:
        partition = id.partition if topic is None else self._partition(id, topic)
        return id if partition == id.partition else msgspec.structs.replace(id, partition=partition)

    def _partition(self, id: MessageId, topic: str) -> int:
        """Return the partition of an id of this topic, as `MessageId` has it."""
        if is_partition(topic):
            return partition_number(topic) if id.partition <= 0 else id.partition
        if id.partition < 0:
            return self.partitions.get((topic, id.position), id.partition)
        return NO_PARTITION if id.partition == 0 and topic in self.plain_topics else id.partition

    def _whole(self, id: MessageId) -> MessageId:
        """Return the id of the whole entry for number 0 of 1: in a seek, nothing else says which message is meant."""
        is_whole = id.batch_index == 0 and (id.batch_size == 1 or self._is_in_none(id))
        return msgspec.structs.replace(id, batch_index=-1, batch_size=0) if is_whole else id

    def _is_in_none(self, id: MessageId) -> bool:
        """Return whether its entry is known, and no batch."""
        return self.entries.get(id.position, ()) is None

    def _in_batch(self, id: MessageId, identity: Identity | None, whose: _Whose) -> MessageId:
        if id.batch_index > 0 or id.batch_size > 1:
            return id
        if self._is_in_none(id):
            return msgspec.structs.replace(id, batch_index=-1, batch_size=0) if id.batch_index == 0 else id
        members = self.entries.get(id.position) or ()
        # An index without the size of the batch may be right.
        if len(members) <= 1 or (id.batch_index == 0 and not id.batch_size):
            return id
        index = self._index(members, identity, whose, id.position)
        return id if index is None else msgspec.structs.replace(id, batch_index=index, batch_size=len(members))

    def _index(
        self, members: tuple[Member, ...], identity: Identity | None, whose: _Whose, position: Position
    ) -> int | None:
        """Return the index of a message by its identity; equal messages without one are taken in turn."""
        named = [index for index, member in enumerate(members) if member.identity == identity]
        if identity is not None and len(named) == 1:
            return named[0]
        alike = [index for index, member in enumerate(members) if member.payload == whose[1:]]
        if not alike:
            return None
        turn = self._taken.get((whose, position), 0)
        self._taken[whose, position] = turn + 1
        return alike[turn % len(alike)]


_HANDLERS: Final[dict[type, Callable[[_Translation, Any], Event]]] = {
    Began: _Translation.began,
    Invoke: _Translation.invoked,
    Completion: _Translation.completed,
    Received: _Translation.received,
}
