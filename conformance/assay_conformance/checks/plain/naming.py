"""What an event names: entries, messages, sequence ids and deliveries, each by its number."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from assay_conformance.checks.plain.passed import Passed
from assay_conformance.checks.plain.standing import OPERATION, Session, Standing
from assay_conformance.model.case import Case
from assay_conformance.model.event import Completion, Event, Frame, Invoke, Member, MessageId, Overdue, Received, Stored
from assay_conformance.model.topic_names import named_topics, renamed

if TYPE_CHECKING:
    from assay_conformance.checks.plain.leaving_out import Span

Name = tuple[tuple[object, ...], Any]
"""Of what, and which number: as in `Standing.counts`."""

_SESSIONS: Final = frozenset({"PRODUCER", "SUBSCRIBE"})


class Names:
    """Sessions and handles with the topics they were for: a number means something of its topic only."""

    def __init__(self, case: Case) -> None:
        self._first = case.topology.topics[0].name
        self._topics: dict[object, set[str]] = {}

    def learn(self, event: Event, standing: Standing) -> None:
        """Of what is not plain: there they are opened."""
        if type(event) is Frame and event.command in _SESSIONS:
            topic = renamed(str(event.fields.get("topic", "")), standing.names)
            self._topics.setdefault(_session(event), set()).add(topic)
        elif type(event) is Invoke and event.verb in ("open_producer", "open_consumer"):
            topics = named_topics(event.args, self._first)
            known = self._topics.setdefault(event.handle, set())
            known.update(renamed(str(topic), standing.names) for topic in topics)

    def topics_of(self, who: object) -> set[str]:
        return self._topics.get(who, set())

    def named(self, event: Event | Passed) -> Iterator[Name]:
        """Everything that an event names."""
        naming = _NAMING.get(type(event))
        return iter(()) if naming is None else naming(event, self)


class Ranges:
    """What was counted within spans, which follow each other: of each kind of number, from where to where."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._of: dict[tuple[object, ...], tuple[list[Any], list[tuple[Any, int]]]] = {}
        for place, span in enumerate(spans):
            for what, last in span.last.counts.items():
                first = span.first.counts.get(what, last)
                if first != last:
                    starts, ends = self._of.setdefault(what, ([], []))
                    starts.append(first)
                    ends.append((last, place))

    def span_of(self, name: Name) -> int | None:
        """The number of the span in which this was counted."""
        what, number = name
        if what not in self._of:
            return None
        starts, ends = self._of[what]
        before = bisect_left(starts, number)
        if not before:
            return None
        last, place = ends[before - 1]
        return place if number <= last else None


def _session(event: Frame) -> tuple[str, Session]:
    if event.producer_id is not None:
        return "producer", (event.conn, event.producer_id)
    return "consumer", (event.conn, event.consumer_id or 0)


def entries_of(event: Event, names: Names) -> Iterator[tuple[str, tuple[int, int]]]:
    """Topics and positions in a frame."""
    assert isinstance(event, Frame)
    for topic in names.topics_of(_session(event)):
        for id in event.ids:
            yield topic, id.position


def _of_frame(event: Frame, names: Names) -> Iterator[Name]:
    for topic, position in entries_of(event, names):
        yield ("entry", topic), position
    if event.producer_id is not None and event.sequence_id is not None:
        yield ("id", (event.conn, event.producer_id)), event.sequence_id
        for member in event.members:
            if member.identity is not None:
                yield ("id", member.identity.handle), event.sequence_id
    yield from _members(event.members)


def _of_stored(event: Stored, _names: Names) -> Iterator[Name]:
    yield ("entry", event.topic), event.id.position
    yield from _members(event.members)


def _of_received(event: Received, names: Names) -> Iterator[Name]:
    yield from _entries(event.message_id, event.handle, names)
    yield ("delivery", event.handle), event.delivery
    if event.identity is not None:
        yield ("number", event.identity.handle), event.identity.number


def _of_completion(event: Completion, names: Names) -> Iterator[Name]:
    yield OPERATION, event.op
    if event.message_id is not None:
        yield from _entries(event.message_id, event.handle, names)


def _of_overdue(event: Overdue, _names: Names) -> Iterator[Name]:
    yield OPERATION, event.op


def _of_invoke(event: Invoke, names: Names) -> Iterator[Name]:
    yield OPERATION, event.op
    if event.number is not None:
        yield ("number", event.handle), event.number
    for delivery in event.args.get("messages", ()):
        yield ("delivery", event.args.get("of", event.handle)), delivery
    if "message_id" in event.args:
        yield from _entries(MessageId(*event.args["message_id"][:2]), event.handle, names)


def _entries(id: MessageId, handle: int | None, names: Names) -> Iterator[Name]:
    for topic in names.topics_of(handle):
        yield ("entry", topic), id.position


def _members(members: Sequence[Member]) -> Iterator[Name]:
    for member in members:
        if member.identity is not None:
            yield ("number", member.identity.handle), member.identity.number


_NAMING: Final[dict[type, Callable[[Any, Names], Iterator[Name]]]] = {
    Frame: _of_frame,
    Stored: _of_stored,
    Received: _of_received,
    Completion: _of_completion,
    Invoke: _of_invoke,
    Overdue: _of_overdue,
}
"""Not of the last word on a topic and its subscriptions: that names whatever was stored."""
