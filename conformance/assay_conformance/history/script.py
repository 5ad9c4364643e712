"""Hand-written histories: a few lines that read like the story they tell.

    story = Script()
    story.producer()                       # open_producer, connection 0, PRODUCER and PRODUCER_SUCCESS
    story.send(0)                          # the application asks for message 0, 1 ms later ...
    story.send_frame(0)                    # ... its SEND crosses,
    story.stored(0)                        # is stored,
    story.receipt(0)                       # is receipted,
    story.ok(0)                            # and the application hears of it
    events = story.done()

Messages are named by their number: `send(3)` is message 3 of the producer handle, and its frames, entries and
deliveries carry the identity and digest that belong to it, so every witness agrees unless a line says otherwise. Each
event comes 1 ms after the one before; `at(ms)` and `after(ms)` move the clock. Whatever is not the point has a default,
and any field of an event can be given by name. Every method returns the event it added (`producer` and the like: the
last of them), so a test can name it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from assay_conformance.model.event import (
    Began,
    Closed,
    ClosedBy,
    Completion,
    Cursor,
    Ended,
    Ending,
    ErrorClass,
    Event,
    Fired,
    Frame,
    Identity,
    Invoke,
    Load,
    Member,
    MessageId,
    Meta,
    Opened,
    Outcome,
    Overdue,
    ReadBack,
    Received,
    Sides,
    Stored,
)
from assay_conformance.model.fault import Direction
from assay_conformance.model.topic_names import base_topic, renamed

E = TypeVar("E", bound=Event)

MS = 1_000_000
CASE_NUMBER = 1
LEDGER = 1
MESSAGE_BYTES = 64
PRODUCER = 1
"""Handle of the producer a line is about when it does not say."""
CONSUMER = 2
NAME = "p"

DUPLICATE = MessageId(-1, -1)
"""The id in the receipt of a deduplicated SEND."""


class Script:
    """Builds one attempt's events; `topics` maps local names to full ones."""

    def __init__(self, topics: Mapping[str, str] | None = None, case: str = "test/case") -> None:
        self.events: list[Event] = []
        self._now_ns = 0
        self._ops = 0
        self._requests = 0
        self._frames = 0
        self._entries = 0
        self._deliveries: dict[int, int] = {}
        self._sends: dict[tuple[int, int], Invoke] = {}
        self._full = dict(topics or {"t": "persistent://public/default/t"})
        self.add(Began, case=case, attempt=1, number=CASE_NUMBER, unix_ms=0, topics=self._full)

    # --- time, and any event ---

    @property
    def now_ns(self) -> int:
        """When the next event will be."""
        return self._now_ns

    def at(self, ms: float) -> Script:
        """Let the next event happen `ms` after the Case began."""
        self._now_ns = round(ms * MS)
        return self

    def after(self, ms: float) -> Script:
        """Let the next event happen `ms` after the last one."""
        return self.at(self.events[-1].t_ns / MS + ms)

    def add(self, kind: type[E], **fields: Any) -> E:
        """Add an event of any type."""
        event = kind(seq=len(self.events), t_ns=self._now_ns, **fields)
        self.events.append(event)
        self._now_ns += MS
        return event

    def done(self, how: Ending = Ending.DONE) -> list[Event]:
        """End the history and return it."""
        self.add(Ended, how=how)
        return self.events

    # --- agent ---

    def invoke(self, verb: str, handle: int | None = None, **fields: Any) -> Invoke:
        op = self._ops
        self._ops += 1
        return self.add(Invoke, op=op, verb=verb, handle=handle, **fields)

    def complete(self, invoke: Invoke, outcome: Outcome = Outcome.OK, **fields: Any) -> Completion:
        return self.add(
            Completion,
            op=invoke.op,
            verb=invoke.verb,
            handle=invoke.handle,
            outcome=outcome,
            **{"called_ns": invoke.t_ns, **fields},
        )

    def send(self, number: int, handle: int = PRODUCER, size: int = MESSAGE_BYTES, **args: Any) -> Invoke:
        """Let the application send message `number`; `args` such as sequence_id are those of the message."""
        invoke = self.invoke("send", handle, number=number, size=size, digest=digest_of(number, handle), args=args)
        self._sends[handle, number] = invoke
        return invoke

    def ok(self, number: int, handle: int = PRODUCER, **fields: Any) -> Completion:
        return self.complete(self._sends[handle, number], Outcome.OK, **fields)

    def fail(self, number: int, error: ErrorClass = ErrorClass.QUEUE_FULL, handle: int = PRODUCER) -> Completion:
        return self.complete(self._sends[handle, number], Outcome.FAIL, error=error)

    def unknown(self, number: int, error: ErrorClass = ErrorClass.TIMEOUT, handle: int = PRODUCER) -> Completion:
        return self.complete(self._sends[handle, number], Outcome.UNKNOWN, error=error)

    def overdue(self, invoke: Invoke, deadline_ms: int = 10_000) -> Overdue:
        return self.add(Overdue, op=invoke.op, verb=invoke.verb, handle=invoke.handle, deadline_ms=deadline_ms)

    def received(
        self, number: int, consumer: int = CONSUMER, entry: int | None = None, handle: int = PRODUCER, **fields: Any
    ) -> Received:
        """Record that the application gets message `number` of producer `handle`; its entry is `number` by default."""
        delivery = self._deliveries[consumer] = self._deliveries.get(consumer, 0) + 1
        values: dict[str, Any] = {
            "message_id": entry_id(number if entry is None else entry),
            "size": MESSAGE_BYTES,
            "digest": digest_of(number, handle),
            "identity": Identity(CASE_NUMBER, handle, number),
            "topic": self._full.get("t"),
            "producer_name": NAME,
        }
        return self.add(Received, handle=consumer, delivery=delivery, **{**values, **fields})

    # --- connections, producers, consumers ---

    def opened(self, conn: int = 0, broker: int = 0, url: str = "") -> Opened:
        return self.add(Opened, conn=conn, broker=broker, url=url)

    def connected(self, conn: int = 0) -> Frame:
        """Open a connection, with its CONNECT and CONNECTED."""
        self.opened(conn)
        self.up("CONNECT", conn)
        return self.down("CONNECTED", conn)

    def cut(self, conn: int = 0, by: ClosedBy = ClosedBy.FAULT, reset: bool = True) -> Closed:
        return self.add(Closed, conn=conn, by=by, reset=reset)

    def closed(self, conn: int = 0, by: ClosedBy = ClosedBy.CLIENT) -> Closed:
        return self.add(Closed, conn=conn, by=by)

    def producer(
        self,
        handle: int = PRODUCER,
        *,
        conn: int = 0,
        producer_id: int = 0,
        topic: str = "t",
        name: str = NAME,
        last_sequence_id: int = -1,
        **config: Any,
    ) -> Completion:
        """Let the application open a producer, on a connection of its own unless `conn` exists already."""
        named = {"topic": base_topic(topic)}
        invoke = self.invoke("open_producer", handle, args={**named, **({"config": config} if config else {})})
        if not any(isinstance(event, Opened) and event.conn == conn for event in self.events):
            self.connected(conn)
        self.producer_ready(conn, producer_id=producer_id, topic=topic, name=name, last_sequence_id=last_sequence_id)
        return self.complete(invoke, producer_name=name)

    def producer_again(self, conn: int = 1, **fields: Any) -> Frame:
        """Register the client's producer on a new connection; return the PRODUCER_SUCCESS."""
        self.connected(conn)
        return self.producer_ready(conn, **fields)

    def producer_asks(
        self, conn: int = 0, *, producer_id: int = 0, topic: str = "t", name: str = NAME, **fields: Any
    ) -> Frame:
        return self.up(
            "PRODUCER",
            conn,
            producer_id=producer_id,
            request_id=self._request(),
            fields={"topic": self.full(topic), "producer_name": name, **fields},
        )

    def producer_ready(
        self,
        conn: int = 0,
        *,
        producer_id: int = 0,
        topic: str = "t",
        name: str = NAME,
        last_sequence_id: int = -1,
        **fields: Any,
    ) -> Frame:
        """Add a PRODUCER and its PRODUCER_SUCCESS."""
        asked = self.producer_asks(conn, producer_id=producer_id, topic=topic, name=name, **fields)
        answer = {"producer_name": name, "last_sequence_id": last_sequence_id}
        return self.down("PRODUCER_SUCCESS", conn, request_id=asked.request_id, fields=answer)

    def consumer(
        self,
        handle: int = CONSUMER,
        *,
        conn: int = 0,
        consumer_id: int = 0,
        topic: str = "t",
        subscription: str = "s",
        kind: str = "Exclusive",
        **config: Any,
    ) -> Completion:
        """Let the application open a consumer; SUBSCRIBE and SUCCESS cross, with the initial position it chose."""
        args: dict[str, Any] = {"topics": [topic], "subscription": subscription}
        invoke = self.invoke("open_consumer", handle, args={**args, "config": config} if config else args)
        if not any(isinstance(event, Opened) and event.conn == conn for event in self.events):
            self.connected(conn)
        chosen = config.get("initial_position")
        fields = {"initialPosition": str(chosen).capitalize()} if chosen else {}
        self.subscribed(conn, consumer_id=consumer_id, topic=topic, subscription=subscription, kind=kind, **fields)
        return self.complete(invoke)

    def subscribed(
        self,
        conn: int = 0,
        *,
        consumer_id: int = 0,
        topic: str = "t",
        subscription: str = "s",
        kind: str = "Exclusive",
        **fields: Any,
    ) -> Frame:
        """Add a SUBSCRIBE and its SUCCESS."""
        asked = self.up(
            "SUBSCRIBE",
            conn,
            consumer_id=consumer_id,
            request_id=self._request(),
            fields={"topic": self.full(topic), "subscription": subscription, "subType": kind, **fields},
        )
        return self.down("SUCCESS", conn, request_id=asked.request_id)

    # --- frames ---

    def up(self, command: str, conn: int = 0, **fields: Any) -> Frame:
        """Add a frame from client to broker."""
        return self._frame(command, conn, Direction.TO_BROKER, fields)

    def down(self, command: str, conn: int = 0, **fields: Any) -> Frame:
        """Add a frame from broker to client."""
        return self._frame(command, conn, Direction.TO_CLIENT, fields)

    def send_frame(
        self,
        *numbers: int,
        conn: int = 0,
        producer_id: int = 0,
        sequence_id: int | None = None,
        handle: int = PRODUCER,
        batch: bool = False,
        name: str = NAME,
        **fields: Any,
    ) -> Frame:
        """Record a SEND of these messages (a batch when several, or with `batch`); sequence ids are their numbers by
        default."""
        first = numbers[0] if sequence_id is None else sequence_id
        count = len(numbers)
        values: dict[str, Any] = {
            "size": MESSAGE_BYTES * count,
            "producer_id": producer_id,
            "sequence_id": first,
            "num_messages": count,
            "intact": True,
            "unit": unit_of(numbers, handle),
            "meta": _meta(name, first, count, batch),
            "members": _members(numbers, handle, first),
        }
        return self.up("SEND", conn, **{**values, **fields})

    def receipt(
        self, sequence_id: int, *, conn: int = 0, producer_id: int = 0, id: MessageId | None = None, **fields: Any
    ) -> Frame:
        """Add a SEND_RECEIPT; `id` is DUPLICATE for a deduplicated SEND."""
        ids = (entry_id(sequence_id) if id is None else id,)
        return self.down(
            "SEND_RECEIPT", conn, **{"producer_id": producer_id, "sequence_id": sequence_id, "ids": ids, **fields}
        )

    def message(
        self,
        *numbers: int,
        conn: int = 0,
        consumer_id: int = 0,
        entry: int | None = None,
        handle: int = PRODUCER,
        batch: bool = False,
        name: str = NAME,
        **fields: Any,
    ) -> Frame:
        """Record a MESSAGE with these messages; its entry is the first one's number by default."""
        count = len(numbers)
        values: dict[str, Any] = {
            "size": MESSAGE_BYTES * count,
            "consumer_id": consumer_id,
            "redelivery_count": 0,
            "ids": (entry_id(numbers[0] if entry is None else entry),),
            "intact": True,
            "unit": unit_of(numbers, handle),
            "meta": _meta(name, numbers[0], count, batch),
            "members": _members(numbers, handle, numbers[0]),
        }
        return self.down("MESSAGE", conn, **{**values, **fields})

    def flow(self, permits: int, *, conn: int = 0, consumer_id: int = 0) -> Frame:
        return self.up("FLOW", conn, consumer_id=consumer_id, permits=permits)

    def ack_frame(
        self,
        *entries: int | MessageId,
        conn: int = 0,
        consumer_id: int = 0,
        ack_type: str = "Individual",
        **fields: Any,
    ) -> Frame:
        """Add an ACK of these entries."""
        ids = tuple(entry if isinstance(entry, MessageId) else entry_id(entry) for entry in entries)
        return self.up("ACK", conn, **{"consumer_id": consumer_id, "ack_type": ack_type, "ids": ids, **fields})

    def redeliver_frame(self, *entries: int, conn: int = 0, consumer_id: int = 0, **fields: Any) -> Frame:
        ids = tuple(entry_id(entry) for entry in entries)
        return self.up("REDELIVER_UNACKNOWLEDGED_MESSAGES", conn, consumer_id=consumer_id, ids=ids, **fields)

    # --- broker and bench ---

    def stored(
        self,
        *numbers: int,
        topic: str = "t",
        entry: int | None = None,
        sequence_id: int | None = None,
        handle: int = PRODUCER,
        batch: bool = False,
        name: str = NAME,
        **fields: Any,
    ) -> Stored:
        """Record that these messages are appended as one entry: the next one by default."""
        position = self._entries if entry is None else entry
        self._entries = position + 1
        first = numbers[0] if sequence_id is None else sequence_id
        values: dict[str, Any] = {
            "size": MESSAGE_BYTES * len(numbers),
            "unit": unit_of(numbers, handle),
            "meta": _meta(name, first, len(numbers), batch),
            "members": _members(numbers, handle, first),
        }
        described = {**values, **fields}
        return self.add(Stored, topic=topic, id=entry_id(position), described=described.pop("meta"), **described)

    def read_back(self, *entries: int, topic: str = "t") -> ReadBack:
        return self.add(ReadBack, topic=topic, entries=tuple(entry_id(entry) for entry in entries))

    def cursor(
        self, mark_delete: int | None, *acked: int, topic: str = "t", subscription: str = "s", backlog: int = 0
    ) -> Cursor:
        return self.add(
            Cursor,
            topic=topic,
            subscription=subscription,
            mark_delete=None if mark_delete is None else entry_id(mark_delete),
            acked=tuple(entry_id(entry) for entry in acked),
            backlog=backlog,
        )

    def fired(self, fault: int = 0, action: str = "drop", frames: Sequence[int] = ()) -> Fired:
        return self.add(Fired, fault=fault, action=action, frames=tuple(frames))

    def load(
        self, window_ms: int, loop_lag_ms: int = 0, agent_wait_ms: int = 0, broker_wait_ms: int = 0, others: int = 0
    ) -> Load:
        """Add a load sample over the `window_ms` before now."""
        return self.add(
            Load,
            window_ns=window_ms * MS,
            loop_lag_ns=loop_lag_ms * MS,
            agent_wait_ns=agent_wait_ms * MS,
            broker_wait_ns=broker_wait_ms * MS,
            others=others,
        )

    # --- inside ---

    def full(self, topic: str) -> str:
        """Return the full name of a local topic, its partition suffix kept."""
        return renamed(topic, self._full)

    def _request(self) -> int:
        self._requests += 1
        return self._requests

    def _frame(self, command: str, conn: int, direction: Direction, fields: dict[str, Any]) -> Frame:
        self._frames += 1
        values: dict[str, Any] = {"conn": conn, "dir": direction, "frame": self._frames, "size": 0, **fields}
        return self.add(Frame, command=command, **{"sides": Sides.BOTH, **values})


def entry_id(entry: int, batch_index: int = -1, batch_size: int = 0) -> MessageId:
    """Return the id of entry number `entry` in these histories."""
    return MessageId(LEDGER, entry, -1, batch_index, batch_size)


def digest_of(number: int, handle: int = PRODUCER) -> int:
    """Return what stands for the digest of message `number`: any function of handle and number will do."""
    return zlib.crc32(f"{handle}/{number}".encode())


def unit_of(numbers: Sequence[int], handle: int = PRODUCER) -> int:
    """Return what stands for the checksum of a frame with these messages."""
    return zlib.crc32(f"{handle}:{','.join(map(str, numbers))}".encode())


def _meta(name: str, sequence_id: int, count: int, batch: bool) -> Meta:
    return Meta(producer_name=name, sequence_id=sequence_id, batch=count if batch or count > 1 else None)


def _members(numbers: Sequence[int], handle: int, first: int) -> tuple[Member, ...]:
    return tuple(
        Member(
            size=MESSAGE_BYTES,
            digest=digest_of(number, handle),
            identity=Identity(CASE_NUMBER, handle, number),
            sequence_id=first + index,
        )
        for index, number in enumerate(numbers)
    )
