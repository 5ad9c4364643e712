"""Where producers, topics and consumers stand, as far as a plain stretch goes by it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from assay_conformance.model.event import Member, Meta, Position

Session = tuple[int, int]
"""Connection, and the id of a producer or consumer there."""

OPERATION: Final = ("operation",)
"""What operations are counted as."""


class Message:
    """One message, from its send on. What is not known yet is 0, or None."""

    __slots__ = (
        *("acked_ns", "asked_ns", "called", "digest", "handle", "members", "meta", "number", "op", "position"),
        *("receipted", "sequence_id", "size", "stored_ns", "unit"),
    )

    def __init__(self, handle: int, number: int, size: int | None, digest: int | None, op: int, asked_ns: int) -> None:
        self.handle = handle
        self.number = number
        self.size = size
        self.digest = digest
        self.op = op
        self.asked_ns = asked_ns
        self.sequence_id = 0
        self.unit: int | None = None
        self.meta: Meta | None = None
        self.members: tuple[Member, ...] = ()
        self.position: Position | None = None
        self.stored_ns = 0
        self.receipted = False
        self.acked_ns = 0
        self.called = False
        """The call that acknowledges it has ended."""


@dataclass(slots=True, eq=False)
class Log:
    """A topic: what was sent to it and is not seen stored, and what is stored and was not dispatched."""

    topic: str
    full_name: str
    to_store: deque[Message] = field(default_factory=deque)
    to_dispatch: deque[Message] = field(default_factory=deque)
    last: Position | None = None
    consumer: Consumer | None = None
    unsettled: set[Position] = field(default_factory=set)
    """Stored and not acknowledged by a call that has ended, while nothing is plain."""


@dataclass(slots=True, eq=False)
class Producer:
    """By its handle. `asked`: sends that have not left; `open`: those that have not ended. `last_id`: of what it sent,
    on whatever connection."""

    handle: int
    log: Log
    limit: int
    asked: deque[Message] = field(default_factory=deque)
    open: deque[Message] = field(default_factory=deque)
    next_number: int = 0
    last_id: int = -1


@dataclass(slots=True, eq=False)
class Writing:
    """A producer on one connection: whose it is, its last SEND says, as long as nothing is plain. `waiting`: SENDs
    without a receipt; `unanswered`: those of before everything was plain, by their sequence ids."""

    producer: Producer | None = None
    last_id: int = -1
    name: str = ""
    waiting: deque[Message] = field(default_factory=deque)
    unanswered: set[int] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class Consumer:
    """By its handle, of one topic that no other consumer has. Its messages: sent to it, handed over and not to be
    acknowledged yet (by delivery), and those whose ACK has not left."""

    log: Log
    group_ns: int
    group_max: int
    handed: deque[Message] = field(default_factory=deque)
    held: dict[int, Message] = field(default_factory=dict)
    acking: dict[Position, Message] = field(default_factory=dict)
    called: int = 0
    """How many of `acking` have a call that has ended: they wait for their group."""
    full_ns: int | None = None
    """Since when a full group waits."""
    delivery: int = 0
    repeats: bool = False
    """It acknowledged again what it had acknowledged: an ACK may leave that nothing is known of."""
    reading: Reading | None = None


@dataclass(slots=True, eq=False)
class Reading:
    """A consumer on one connection, and its permits. `taken`: handed over and not granted again; `ripe_ns`: since when
    that is half a queue; `astray`: permits that client and broker count otherwise."""

    consumer: Consumer | None
    queue: int = 0
    granted: int = 0
    dispatched: int = 0
    astray: int = 0
    taken: int = 0
    ripe_ns: int | None = None
    acked_ns: int | None = None
    """When its last ACK left."""
    fields: dict[str, Any] | None = None
    """The rarer fields of its MESSAGEs in this stretch: all the same."""

    @property
    def refill(self) -> int:
        """Half the queue, rounded up."""
        return max(1, -(-self.queue // 2))


@dataclass(slots=True, eq=False)
class Standing:
    """Of everybody. `calls`: operations other than sends that have not ended, and how many messages each asks for;
    `largest`: the bytes of a frame that any broker takes; `one_id`: connections on which an ACK names one entry."""

    largest: int
    one_id: set[int] = field(default_factory=set)
    case_number: int = -1
    names: dict[str, str] = field(default_factory=dict)
    logs: dict[str, Log] = field(default_factory=dict)
    producers: dict[int, Producer] = field(default_factory=dict)
    consumers: dict[int, Consumer] = field(default_factory=dict)
    writings: dict[Session, Writing] = field(default_factory=dict)
    readings: dict[Session, Reading] = field(default_factory=dict)
    calls: dict[int, int] = field(default_factory=dict)
    operation: int = -1
    """The last that was asked for."""
    heard_ns: dict[int, int] = field(default_factory=dict)
    """Connection -> when its client was last written to."""
    under_way: int = 0
    """In a plain stretch: operations that have not ended, and messages that left and that no call has acknowledged."""

    def log(self, topic: str) -> Log:
        """By its local name."""
        log = self.logs.get(topic)
        if log is None:
            full_names = (full for full, local in self.names.items() if local == topic)
            log = self.logs[topic] = Log(topic, next(full_names, topic))
        return log

    @property
    def permits(self) -> tuple[tuple[Session, int, int], ...]:
        """What is the same before and behind a stretch that is left out."""
        return tuple((key, one.granted - one.dispatched, one.taken) for key, one in self.readings.items())

    @property
    def waiting(self) -> frozenset[tuple[str, Position]]:
        """Entries whose ACK waits for its group."""
        return frozenset((one.log.topic, position) for one in self.consumers.values() for position in one.acking)

    def counts(self) -> Iterator[tuple[tuple[object, ...], object]]:
        """How far everything that is numbered has come."""
        yield OPERATION, self.operation
        for topic, log in self.logs.items():
            yield ("entry", topic), log.last or (-1, -1)
        for handle, producer in self.producers.items():
            yield ("number", handle), producer.next_number - 1
            yield ("id", handle), producer.last_id
        for handle, consumer in self.consumers.items():
            yield ("delivery", handle), consumer.delivery
        for session, writing in self.writings.items():
            yield ("id", session), writing.last_id
