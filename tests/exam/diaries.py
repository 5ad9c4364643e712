"""Histories by hand: producers and consumers with topics of their own, of whom every step goes as it should."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from fuzz.plain import Day, calm_day
from msgspec.structs import replace

from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import (
    Began,
    Completion,
    Ended,
    Ending,
    Frame,
    Identity,
    Invoke,
    Member,
    MessageId,
    Meta,
    Opened,
    Outcome,
    Received,
    Stored,
)

_UP, _DOWN = Direction.TO_BROKER, Direction.TO_CLIENT
_SIZE = 64
MS = 1_000_000
NOWHERE = MessageId(0, 0)


@dataclass
class Sender:
    """A producer. `number` and `id` (of sequence) are those of its next message."""

    handle: int
    conn: int
    topic: str
    number: int = 0
    id: int = 0

    @property
    def name(self) -> str:
        return f"p{self.handle}"


@dataclass
class Taker:
    """A consumer. `taken`: messages it got since its last FLOW; `acked`: entries whose ACK has not left."""

    handle: int
    conn: int
    topic: str
    queue: int = 20
    delivery: int = 0
    taken: int = 0
    acked: list[MessageId] = field(default_factory=list)


@dataclass
class Parcel:
    """A message under way."""

    sender: Sender
    number: int
    sequence_id: int
    op: int = 0
    id: MessageId = NOWHERE

    @property
    def member(self) -> Member:
        identity = Identity(0, self.sender.handle, self.number)
        return Member(size=_SIZE, digest=self.digest, identity=identity, sequence_id=self.sequence_id)

    @property
    def digest(self) -> int:
        return crc32(f"{self.sender.handle} {self.number}".encode())

    @property
    def payload(self) -> dict[str, Any]:
        meta = Meta(producer_name=self.sender.name, sequence_id=self.sequence_id, publish_time_ms=1)
        unit = crc32(f"{self.sender.name} {self.sequence_id} {self.digest}".encode())
        return {"unit": unit, "meta": meta, "members": (self.member,)}


class Diary:
    """`now_ms` is the time; whoever writes it down sets it."""

    def __init__(self, topics: str = "tuvw", version: int = 21) -> None:
        self._topics, self._version = topics, version
        self.events: list[Any] = []
        self.now_ms: float = 0
        self._ops = self._requests = self._frames = 0
        self._entries = dict.fromkeys(topics, 0)
        self.add(Began, case="x/y", attempt=1, number=0, unix_ms=1, topics={one: _full(one) for one in topics})
        self._connections: set[int] = set()

    def add(self, kind: type, **fields: Any) -> None:
        self.events.append(kind(seq=len(self.events), t_ns=round(self.now_ms * MS), **fields))

    def day(self) -> Day:
        """The end of it."""
        self.add(Ended, how=Ending.DONE)
        topology = Topology(topics=tuple(Topic(name=one) for one in self._topics))
        case: Case = replace(calm_day().case, topology=topology, faults=(), requirements=())
        return Day(case, tuple(self.events))

    # --- openings ---

    def company(self, conn: int = 1) -> tuple[Sender, Taker, Sender]:
        """One who sends to `t` on connection 1, and a consumer of `u`, on the other one, with one who sends to it."""
        return self.producer(1, 1, "t"), self.consumer(2, conn, "u"), self.producer(3, conn, "u")

    def connect(self, conn: int) -> None:
        self._connections.add(conn)
        self.add(Opened, conn=conn)
        self.up(conn, "CONNECT", fields={"protocol_version": self._version})
        self.down(conn, "CONNECTED", fields={"protocol_version": self._version, "max_message_size": 5_242_880})

    def producer(self, handle: int, conn: int, topic: str) -> Sender:
        with_topic = {"client": conn, "topic": topic}
        op = self.invoke("open_producer", handle, args=with_topic)
        sender = Sender(handle, conn, topic)
        self.register(sender)
        self.complete(op, "open_producer", handle, producer_name=sender.name)
        return sender

    def register(self, sender: Sender, epoch: int = 0) -> None:
        if sender.conn not in self._connections:
            self.connect(sender.conn)
        name = {"producer_name": sender.name} if epoch else {}
        request, fields = self.request(), {"topic": _full(sender.topic), "epoch": epoch, **name}
        fields["user_provided_producer_name"] = False
        self.up(sender.conn, "PRODUCER", producer_id=sender.handle, request_id=request, fields=fields)
        told = {"producer_name": sender.name, "last_sequence_id": -1}
        self.down(sender.conn, "PRODUCER_SUCCESS", request_id=request, fields=told)

    def consumer(self, handle: int, conn: int, topic: str) -> Taker:
        op = self.invoke("open_consumer", handle, args={"client": conn, "topics": [topic], "subscription": "s"})
        if conn not in self._connections:
            self.connect(conn)
        request = self.request()
        fields = {"topic": _full(topic), "subscription": "s", "subType": "Exclusive", "initialPosition": "Earliest"}
        self.up(conn, "SUBSCRIBE", consumer_id=handle, request_id=request, fields=fields)
        self.down(conn, "SUCCESS", request_id=request)
        taker = Taker(handle, conn, topic)
        self.flow(taker, taker.queue)
        self.complete(op, "open_consumer", handle)
        return taker

    # --- single steps ---

    def invoke(self, verb: str, handle: int, **fields: Any) -> int:
        self._ops += 1
        self.add(Invoke, op=self._ops, verb=verb, handle=handle, **fields)
        return self._ops

    def complete(self, op: int, verb: str, handle: int, outcome: Outcome = Outcome.OK, **fields: Any) -> None:
        self.add(Completion, op=op, verb=verb, outcome=outcome, handle=handle, **fields)

    def request(self) -> int:
        self._requests += 1
        return self._requests

    def up(self, conn: int, command: str, **fields: Any) -> None:
        self._frame(conn, _UP, command, fields)

    def down(self, conn: int, command: str, **fields: Any) -> None:
        self._frame(conn, _DOWN, command, fields)

    def _frame(self, conn: int, dir: Direction, command: str, fields: dict[str, Any]) -> None:
        self._frames += 1
        self.add(Frame, **{"conn": conn, "dir": dir, "frame": self._frames, "command": command, "size": 100, **fields})

    def ask(self, sender: Sender) -> Parcel:
        parcel = Parcel(sender, sender.number, sender.id)
        sender.number, sender.id = sender.number + 1, sender.id + 1
        kept = {"number": parcel.number, "size": _SIZE, "digest": parcel.digest, "args": {"size": _SIZE}}
        parcel.op = self.invoke("send", sender.handle, **kept)
        return parcel

    def send(self, parcel: Parcel, **fields: Any) -> None:
        sender = parcel.sender
        whose = {"producer_id": sender.handle, "sequence_id": parcel.sequence_id, "intact": True, **parcel.payload}
        self.up(sender.conn, "SEND", **{**whose, **fields})

    def store(self, parcel: Parcel, **fields: Any) -> None:
        topic = parcel.sender.topic
        parcel.id = MessageId(self._topics.index(topic), self._entries[topic])
        self._entries[topic] += 1
        told = {**parcel.payload, **fields}
        self.add(Stored, topic=topic, id=parcel.id, size=_SIZE, described=told.pop("meta"), **told)

    def receipt(self, parcel: Parcel, **fields: Any) -> None:
        sender = parcel.sender
        whose = {"producer_id": sender.handle, "sequence_id": parcel.sequence_id, "ids": (parcel.id,)}
        self.down(sender.conn, "SEND_RECEIPT", **{**whose, **fields})

    def told(self, parcel: Parcel, outcome: Outcome = Outcome.OK, **fields: Any) -> None:
        self.complete(parcel.op, "send", parcel.sender.handle, outcome, **fields)

    def dispatch(self, taker: Taker, parcel: Parcel, **fields: Any) -> None:
        whose = {"consumer_id": taker.handle, "ids": (parcel.id,), "intact": True, **parcel.payload}
        self.down(taker.conn, "MESSAGE", **{**whose, **fields})

    def hand_over(self, taker: Taker, parcel: Parcel) -> int:
        taker.delivery += 1
        member = parcel.member
        same = {"size": member.size, "digest": member.digest, "identity": member.identity}
        self.add(Received, handle=taker.handle, delivery=taker.delivery, message_id=parcel.id, **same)
        taker.taken += 1
        if taker.taken >= taker.queue // 2:
            self.flow(taker, taker.taken)
            taker.taken = 0
        return taker.delivery

    def flow(self, taker: Taker, permits: int, **fields: Any) -> None:
        self.up(taker.conn, "FLOW", consumer_id=taker.handle, permits=permits, **fields)

    def acknowledge(self, taker: Taker, parcel: Parcel, delivery: int, **fields: Any) -> None:
        op = self.invoke("ack", taker.handle, args={"consumer": taker.handle, "messages": [delivery]})
        self.complete(op, "ack", taker.handle, **fields)
        taker.acked.append(parcel.id)

    def ack(self, taker: Taker, *ids: MessageId) -> None:
        """Of these, or of all that waits."""
        named = ids or tuple(taker.acked)
        taker.acked = [id for id in taker.acked if id not in named]
        self.up(taker.conn, "ACK", consumer_id=taker.handle, ack_type="Individual", ids=named)

    # --- all of them ---

    def sent(self, sender: Sender) -> Parcel:
        """A message that is stored, receipted and told."""
        parcel = self.ask(sender)
        self.send(parcel)
        self.store(parcel)
        self.receipt(parcel)
        self.told(parcel)
        return parcel

    def taken(self, taker: Taker, parcel: Parcel) -> None:
        """And dispatched, handed over and acknowledged."""
        self.dispatch(taker, parcel)
        self.acknowledge(taker, parcel, self.hand_over(taker, parcel))

    def passed_on(self, sender: Sender, taker: Taker, messages: int = 10) -> None:
        """All of it, of so many messages at once."""
        for _ in range(messages):
            self.taken(taker, self.sent(sender))

    def calm(self, sender: Sender, messages: int = 40, every_ms: float = 1) -> None:
        """So many messages of one, one after the other."""
        for _ in range(messages):
            self.sent(sender)
            self.now_ms += every_ms


def _full(topic: str) -> str:
    return f"persistent://public/default/{topic}"
