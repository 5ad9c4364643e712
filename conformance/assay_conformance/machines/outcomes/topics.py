"""What topics and subscriptions hold in the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Final

from assay_conformance.machines.outcomes.aspects import Aspect, Kind, Value
from assay_conformance.machines.outcomes.names import Names
from assay_conformance.model.event import Cursor, Event, Invoke, Member, Meta, Position, ReadBack, Stored

_SUBSCRIPTION: Final = "s"
"""What a consumer's is called where a Case does not say."""


class Topics:
    """Of messages that were sent before the last read of a topic, and of subscriptions that the Case names."""

    def __init__(self) -> None:
        self._content: dict[tuple[str, Position], tuple[str, ...]] = {}
        self._held: dict[str, tuple[Position, ...]] = {}
        self._cursors: list[Cursor] = []
        self._subscriptions: set[str] = set()

    def see(self, event: Event, names: Names) -> None:
        match event:
            case Invoke(verb="open_consumer"):
                self._subscriptions.add(str(event.args.get("subscription", _SUBSCRIPTION)))
            case Stored():
                stored = names.store(event)
                self._content[event.topic, event.id.position] = tuple(_content(event, stored))
            case ReadBack():
                self._held[event.topic] = tuple(id.position for id in event.entries)
            case Cursor():
                self._cursors.append(event)

    def stored(self, names: Names) -> dict[str, list[str]]:
        """Return the messages of each topic, in order."""
        return {
            topic: [name for position in held for name in names.at(topic, position)]
            for topic, held in self._held.items()
        }

    def outcomes(self, names: Names) -> Iterator[tuple[Aspect, Value]]:
        for topic, messages in self.stored(names).items():
            content = {line for position in self._held[topic] for line in self._content.get((topic, position), ())}
            yield Aspect(Kind.STORED, topic), tuple(sorted(set(messages)))
            yield Aspect(Kind.STORED_AGAIN, topic), tuple(sorted({one for one in messages if messages.count(one) > 1}))
            yield Aspect(Kind.STORED_DISORDER, topic), tuple(sorted(_disorder(messages)))
            yield Aspect(Kind.CONTENT, topic), tuple(sorted(content))
            yield from self._of_subscriptions(topic, names)

    def _of_subscriptions(self, topic: str, names: Names) -> Iterator[tuple[Aspect, Value]]:
        cursors = [one for one in self._cursors if one.topic == topic and one.subscription in self._subscriptions]
        yield Aspect(Kind.SUBSCRIPTIONS, topic), tuple(sorted(one.subscription for one in cursors))
        for cursor in cursors:
            left = self._unacknowledged(cursor, names)
            yield Aspect(Kind.UNACKNOWLEDGED, f"subscription {cursor.subscription} of {topic}"), tuple(sorted(left))

    def _unacknowledged(self, cursor: Cursor, names: Names) -> Iterator[str]:
        mark = cursor.mark_delete.position if cursor.mark_delete is not None else (-1, -1)
        acked = {(id.position, id.batch_index) for id in cursor.acked}
        for position in self._held[cursor.topic]:
            if position > mark and (position, -1) not in acked:
                members = enumerate(names.at(cursor.topic, position))
                yield from (name for index, name in members if (position, index) not in acked)


def _disorder(messages: Collection[str]) -> Iterator[str]:
    """Yield the messages that are stored after a later one of their producer, by the first copy of each."""
    latest: dict[str, int] = defaultdict(lambda: -1)
    for name in dict.fromkeys(messages):
        producer, sent, number = name.partition("#")
        if sent:
            if int(number) < latest[producer]:
                yield name
            latest[producer] = max(latest[producer], int(number))


def _content(event: Stored, names: Collection[str]) -> Iterator[str]:
    meta = event.described
    members = [member for member in event.members if not member.compacted_out]
    if meta is None or len(members) != len(names):
        return
    for name, member in zip(names, members, strict=True):
        yield f"{name}: {', '.join(_words(meta, member))}"


def _words(meta: Meta, member: Member) -> Iterator[str]:
    batched = meta.batch is not None
    key, digests, letter = (
        (member.key, member.property_digests, member.letter)
        if batched
        else (meta.key, meta.property_digests, meta.letter)
    )
    yield f"{member.size} bytes"
    yield f"key {key}" if key is not None else "no key"
    if meta.ordering_key is not None:
        yield "ordering key"
    if digests:
        yield f"properties {' '.join(map(str, sorted(digests)))}"
    if letter:
        yield f"letter with {' '.join(sorted(letter))}"
    yield f"codec {meta.compression}"
