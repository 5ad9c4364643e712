"""Whom a frame is about: topic, producer name and subscription, as known from one connection's frames.

Producer and consumer ids are valid within a connection; PRODUCER and SUBSCRIBE say what they stand for, and
PRODUCER_SUCCESS names a producer that let the broker choose. An answer is about whatever its request was about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from assay_conformance.model.fault import Scope
from assay_conformance.model.topic_names import base_topic
from assay_conformance.wire import BODY_FIELDS, CommandType, Frame
from assay_faults.answers import ANSWERS
from assay_faults.fields import body_of


@dataclass(slots=True)
class FrameOwner:
    """A producer, a consumer, or a topic asked about. `topic`, or partition: its name in the topology, else the full
    one."""

    topic: str
    producer_name: str | None = None
    subscription: str | None = None
    session: int | None = None

    def within(self, scope: Scope) -> bool:
        return (
            scope.topic in (None, self.topic, base_topic(self.topic))
            and scope.producer_name in (None, self.producer_name)
            and scope.subscription in (None, self.subscription)
            and scope.session in (None, self.session)
        )


class Sessions:
    """How many producers each topic has admitted, and how many consumers each of its subscriptions; over all
    connections."""

    def __init__(self) -> None:
        self._admitted: Counter[tuple[str, str | None]] = Counter()

    def of(self, topic: str, subscription: str | None = None) -> int:
        """Return the number of the session that is being requested."""
        return self._admitted[topic, subscription]

    def admitted(self, owner: FrameOwner) -> None:
        """Count a producer or consumer that the broker has admitted."""
        self._admitted[owner.topic, owner.subscription] += 1


class _Key(Enum):
    PRODUCER = auto()
    CONSUMER = auto()
    TOPIC = auto()
    REQUEST = auto()


# The first of these that a command has names its party.
_KEY_FIELDS: Final = {
    "producer_id": _Key.PRODUCER,
    "consumer_id": _Key.CONSUMER,
    "topic": _Key.TOPIC,
    "request_id": _Key.REQUEST,
}


def _key(kind: CommandType) -> _Key | None:
    body = body_of(kind)
    # A command that names several topics is about none of them.
    names = {} if body is None else {name for name, field in body.fields_by_name.items() if not field.is_repeated}
    order = {
        "producer_id": _Key.PRODUCER,
        "consumer_id": _Key.CONSUMER,
        "topic": _Key.TOPIC,
        "request_id": _Key.REQUEST,
    }
    return next((key for name, key in order.items() if name in names), None)


_KEYS: Final = {int(kind): key for kind in map(CommandType, BODY_FIELDS) if (key := _key(kind)) is not None}
# Commands from which the party of a request id is known. An ACK is left out: there are many, and ACK_RESPONSE names its
# consumer.
_ASKING: Final = frozenset(
    int(kind)
    for kind in map(CommandType, BODY_FIELDS)
    if kind is not CommandType.ACK and (body := body_of(kind)) is not None and "request_id" in body.fields_by_name
)


# Requests that are answered by their id; the rest of _ASKING are the answers.
REQUESTS: Final = frozenset(int(kind) for kind, answer in ANSWERS.items() if "request_id" in answer.copied)


class FrameOwners:
    """The parties of one connection, and what its client asked for.

    `local` turns a full topic name into the topology's, where that has one; `sessions` are those of all connections.
    """

    __slots__ = ("_asked", "_consumers", "_local", "_producers", "_requests", "_sessions")

    def __init__(self, local: Callable[[str], str], sessions: Sessions) -> None:
        self._local = local
        self._sessions = sessions
        self._producers: dict[int, FrameOwner] = {}
        self._consumers: dict[int, FrameOwner] = {}
        self._requests: dict[int, FrameOwner] = {}
        self._asked: dict[int, int] = {}

    def learn(self, frame: Frame) -> None:
        """Take in what this frame says about ids; before `of` is asked about it."""
        kind, body = frame.type, frame.body
        if kind in REQUESTS:
            self._asked[body.request_id] = kind
        if kind == CommandType.PRODUCER:
            topic = self._local(body.topic)
            self._producers[body.producer_id] = FrameOwner(
                topic, producer_name=body.producer_name or None, session=self._sessions.of(topic)
            )
        elif kind == CommandType.SUBSCRIBE:
            topic, subscription = self._local(body.topic), body.subscription
            self._consumers[body.consumer_id] = FrameOwner(
                topic, subscription=subscription, session=self._sessions.of(topic, subscription)
            )
        elif kind == CommandType.PRODUCER_SUCCESS and (party := self._requests.get(body.request_id)) is not None:
            party.producer_name = body.producer_name
            if body.producer_ready:
                self._sessions.admitted(party)
        elif kind == CommandType.SUCCESS and self._asked.get(body.request_id) == CommandType.SUBSCRIBE:
            self._sessions.admitted(self._requests[body.request_id])
        if kind in _ASKING and (party := self.of(frame)) is not None:
            self._requests[body.request_id] = party

    def of(self, frame: Frame) -> FrameOwner | None:
        """Return whom a frame is about.

        Return None for a frame about the connection itself, or about an id that was never registered.
        """
        key, body = _KEYS.get(frame.type), frame.body
        if key is _Key.PRODUCER:
            return self._producers.get(body.producer_id)
        if key is _Key.CONSUMER:
            return self._consumers.get(body.consumer_id)
        if key is _Key.REQUEST:
            return self._requests.get(body.request_id)
        return FrameOwner(self._local(body.topic)) if key is _Key.TOPIC else None

    def answers(self, frame: Frame) -> int | None:
        """Return the command of the request that a frame with a request id answers, or None if there is none."""
        return self._asked.get(frame.body.request_id)

    def any_within(self, scope: Scope) -> bool:
        """Return whether this connection carries a producer or consumer that the scope selects."""
        return any(party.within(scope) for party in (*self._producers.values(), *self._consumers.values()))
