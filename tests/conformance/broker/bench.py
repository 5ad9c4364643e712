"""A cluster in virtual time, and hand-made clients to talk to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from assay_conformance.broker import Cluster, CursorState, ReadBackState
from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.event import MessageId
from assay_conformance.pulsar.mutants import overrides_of
from assay_conformance.wire import (
    BaseCommand,
    CommandType,
    Frame,
    Member,
    MessageMetadata,
    Payload,
    SingleMessageMetadata,
    command,
    decode,
    encode,
    encode_batch,
)

NS_PER_MS = 1_000_000
T = "persistent://public/default/t"
C = CommandType


def full_name(topic: Topic) -> str:
    return f"{'' if topic.persistent else 'non-'}persistent://public/default/{topic.name}"


class Bench:
    """The sink of its own cluster. `stored` are (topic, id, payload); `closed` and `paused` are connections. `room` is
    how many frames each of some connections holds before it is not writable; with twice as many it is flooded."""

    def __init__(self, *mutations: str, topology: Topology | None = None, **policy: Any) -> None:
        topology = topology or Topology(topics=(Topic(name="t", **policy),))
        self.now_ms = 0.0
        self.closed: list[int] = []
        self.paused: set[int] = set()
        self.room: dict[int, int] = {}
        self.stored_entries: list[tuple[str, MessageId, Payload]] = []
        self._out: dict[int, list[tuple[float, Frame]]] = defaultdict(list)
        self._request = 0
        self.cluster = Cluster(
            topology,
            self,
            urls=[f"pulsar://broker-{index}:6650" for index in range(topology.brokers)],
            topics={topic.name: full_name(topic) for topic in topology.topics},
            overrides=overrides_of(mutations),
        )

    # --- sink -------------------------------------------------------------------------------------------------------

    def send(self, conn: int, frame: Frame) -> None:
        # What goes out says the same whether its bytes or its parsed command are read.
        assert decode(frame.raw).command == frame.command
        self._out[conn].append((self.now_ms, frame))

    def close(self, conn: int) -> None:
        self.closed.append(conn)

    def pause_reading(self, conn: int) -> None:
        assert conn not in self.paused
        self.paused.add(conn)

    def resume_reading(self, conn: int) -> None:
        self.paused.remove(conn)

    def is_writable(self, conn: int) -> bool:
        return conn not in self.room or len(self._out[conn]) < self.room[conn]

    def is_flooded(self, conn: int) -> bool:
        return conn in self.room and len(self._out[conn]) >= 2 * self.room[conn]

    def stored(self, topic: str, id: MessageId, payload: Payload) -> None:
        self.stored_entries.append((topic, id, payload))

    # --- clients ----------------------------------------------------------------------------------------------------

    def connect(self, conn: int = 0, broker: int = 0, version: int = 21) -> Frame:
        self.cluster.opened(conn, broker, self.now_ns)
        return self.ask(C.CONNECT, conn, client_version="test", protocol_version=version)

    def tell(self, kind: CommandType, conn: int = 0, **fields: Any) -> None:
        self.cluster.received(conn, decode(encode(command(kind, **fields))), self.now_ns)

    def request(self, kind: CommandType, conn: int = 0, **fields: Any) -> None:
        """A command with a request id of its own."""
        self._request += 1
        self.tell(kind, conn, request_id=self._request, **fields)

    def ask(self, kind: CommandType, conn: int = 0, **fields: Any) -> Frame:
        """A command, and the last frame that came back."""
        if kind is C.CONNECT:
            self.tell(kind, conn, **fields)
        else:
            self.request(kind, conn, **fields)
        return self.take(conn)[-1]

    def produce(self, conn: int = 0, producer_id: int = 1, name: str = "p", topic: str = T, **fields: Any) -> Frame:
        return self.ask(C.PRODUCER, conn, producer_id=producer_id, producer_name=name, topic=topic, **fields)

    def subscribe(self, kind: str = "Exclusive", conn: int = 0, consumer_id: int = 1, **fields: Any) -> Frame:
        given = {"topic": T, "subscription": "s", "initialPosition": "Earliest", "subType": kind} | fields
        return self.ask(C.SUBSCRIBE, conn, consumer_id=consumer_id, **given)

    def flow(self, permits: int, conn: int = 0, consumer_id: int = 1) -> None:
        self.tell(C.FLOW, conn, consumer_id=consumer_id, messagePermits=permits)

    def ack(self, *ids: MessageId, conn: int = 0, consumer_id: int = 1, **fields: Any) -> None:
        positions = [{"ledgerId": id.ledger, "entryId": id.entry} for id in ids]
        self.tell(C.ACK, conn, **({"consumer_id": consumer_id, "ack_type": 0, "message_id": positions} | fields))

    def redeliver(self, *ids: MessageId, conn: int = 0, consumer_id: int = 1, **fields: Any) -> None:
        positions = [{"ledgerId": id.ledger, "entryId": id.entry} for id in ids]
        kind = C.REDELIVER_UNACKNOWLEDGED_MESSAGES
        self.tell(kind, conn, consumer_id=consumer_id, message_ids=positions, **fields)

    def publish(
        self,
        *sequence_ids: int,
        conn: int = 0,
        producer_id: int = 1,
        name: str = "p",
        meta: Mapping[str, Any] = MappingProxyType({}),
        **send: Any,
    ) -> None:
        """One SEND each, of one message; `meta` are further fields of MessageMetadata."""
        for sequence_id in sequence_ids:
            metadata = MessageMetadata(
                producer_name=name, sequence_id=sequence_id, publish_time=int(self.now_ms), **meta
            )
            fields = {"producer_id": producer_id, "sequence_id": sequence_id, "num_messages": 1} | send
            self.put(encode(command(C.SEND, **fields), metadata=metadata, data=b"%d" % sequence_id), conn)

    def publish_batch(self, first: int, count: int, conn: int = 0, producer_id: int = 1, name: str = "p") -> None:
        last = first + count - 1
        metadata = MessageMetadata(
            producer_name=name,
            sequence_id=first,
            publish_time=0,
            num_messages_in_batch=count,
            highest_sequence_id=last,
        )
        members = [Member(SingleMessageMetadata(sequence_id=first + index), b"m") for index in range(count)]
        send = command(C.SEND, producer_id=producer_id, sequence_id=first, num_messages=count, highest_sequence_id=last)
        self.put(encode(send, metadata=metadata, data=encode_batch(members)), conn)

    def publish_chunk(self, sequence_id: int, chunk_id: int, chunks: int, conn: int = 0) -> None:
        metadata = MessageMetadata(
            producer_name="p",
            sequence_id=sequence_id,
            publish_time=0,
            uuid=f"p-{sequence_id}",
            chunk_id=chunk_id,
            num_chunks_from_msg=chunks,
            total_chunk_msg_size=chunks,
        )
        send = command(C.SEND, producer_id=1, sequence_id=sequence_id, num_messages=1, is_chunk=True)
        self.put(encode(send, metadata=metadata, data=b"c"), conn)

    def put(self, raw: bytes, conn: int = 0) -> None:
        self.cluster.received(conn, decode(raw), self.now_ns)

    def leave(self, conn: int = 0) -> None:
        self.cluster.closed(conn, self.now_ns)

    # --- time and steps ---------------------------------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        return int(self.now_ms * NS_PER_MS)

    def wait(self, ms: float) -> None:
        """Let time pass, waking the cluster at each of its deadlines."""
        end_ms = self.now_ms + ms
        while (deadline_ns := self.cluster.next_deadline_ns()) is not None and deadline_ns <= end_ms * NS_PER_MS:
            self.now_ms = max(self.now_ms, deadline_ns / NS_PER_MS)
            self.cluster.advance(deadline_ns)
        self.now_ms = end_ms

    def step(self, verb: str, **args: Any) -> None:
        self.cluster.command(verb, args, self.now_ns)

    # --- what came --------------------------------------------------------------------------------------------------

    def take(self, conn: int = 0) -> list[Frame]:
        """The frames since the last time."""
        return [frame for _, frame in self.take_timed(conn)]

    def take_timed(self, conn: int = 0) -> list[tuple[float, Frame]]:
        """The frames since the last time, each with its millisecond."""
        return self._out.pop(conn, [])

    def read(self, conn: int = 0) -> list[int]:
        """The client reads all there is: the sequence ids of the MESSAGEs among it."""
        found = self.delivered(conn)
        self.cluster.drained(conn, self.now_ns)
        return found

    def commands(self, conn: int = 0) -> list[BaseCommand]:
        return [frame.command for frame in self.take(conn)]

    def kinds(self, conn: int = 0) -> list[str]:
        return [CommandType(frame.type).name for frame in self.take(conn)]

    def delivered(self, conn: int = 0) -> list[int]:
        """The sequence ids of the MESSAGEs since the last time."""
        return [frame.payload.metadata.sequence_id for frame in self.take(conn) if frame.payload is not None]

    def receipts(self, conn: int = 0) -> list[int]:
        """The sequence ids of the SEND_RECEIPTs since the last time."""
        return [frame.body.sequence_id for frame in self.take(conn) if frame.type == C.SEND_RECEIPT]

    @property
    def ids(self) -> list[MessageId]:
        """Where everything was stored, in order."""
        return [id for _, id, _ in self.stored_entries]

    @property
    def content(self) -> list[int]:
        """The sequence ids stored, in order."""
        return [payload.metadata.sequence_id for _, _, payload in self.stored_entries]

    def cursor(self, name: str = "s") -> CursorState:
        found = [
            state for state in self.cluster.read_back() if isinstance(state, CursorState) and state.subscription == name
        ]
        return found[0]

    def read_back(self) -> list[MessageId]:
        return [id for state in self.cluster.read_back() if isinstance(state, ReadBackState) for id in state.entries]
