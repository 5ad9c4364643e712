"""A scripted broker around one client core, in virtual time: requests answered by a table, everything else by the test.

What the client writes is decoded at once and answered after the input that caused it, as a network would. A test takes
a command out of `silent` to answer it itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from assay_conformance.client import (
    ClientCore,
    ClientSettings,
    ConsumerSettings,
    Delivery,
    Outgoing,
    ProducerSettings,
    Result,
    settings,
)
from assay_conformance.model.event import MessageId
from assay_conformance.pulsar.mutants import overrides_of
from assay_conformance.wire import (
    NO_ID,
    BaseCommand,
    CommandType,
    Frame,
    Member,
    MessageMetadata,
    SingleMessageMetadata,
    Splitter,
    command,
    decode,
    encode,
    encode_batch,
)

C = CommandType
MS = 1_000_000
URL = "pulsar://one:6650"
TOPIC = "persistent://public/default/t"
PRODUCER, CONSUMER = 1, 2


class Peer:
    """`frames` is all the client wrote, as (time in ms, connection, frame). Nobody listens at the URLs in `away`."""

    def __init__(self, *mutations: str, lateness_ms: int | None = None, service_url: str = URL, **config: Any) -> None:
        self.away: set[str] = set()
        self.now_ns = 0
        self.frames: list[tuple[float, int, Frame]] = []
        self.results: dict[int, Result] = {}
        self.order: list[int] = []
        self.deliveries: list[Delivery] = []
        self.urls: list[str] = []
        self.closed_by_client: list[int] = []
        self.silent: set[CommandType] = set()
        self.last_sequence_id = -1
        self.max_message_bytes = 5 * 1024 * 1024
        self.partitions = 0
        self.protocol_version = 21
        self.producer_id: int | None = None
        self._splitters: dict[int, Splitter] = {}
        self._inputs: deque[Callable[[], None]] = deque()
        self._running = False
        self._ops = 0
        self.core = ClientCore(
            self,
            service_url,
            settings(ClientSettings, config),
            unix_ms=1_000_000,
            jitter=lambda: 0.0,
            overrides=overrides_of(mutations, lateness_ms),
        )

    # --- ClientSink ---

    def connect(self, conn: int, url: str) -> None:
        self.urls.append(url)
        self._splitters[conn] = Splitter()
        come = self.core.closed if url in self.away else self.core.opened
        self._inputs.append(lambda: come(conn, self.now_ns))

    def write(self, conn: int, data: bytes) -> None:
        for raw in self._splitters[conn].feed(data):
            frame = decode(raw)
            self.frames.append((self.now_ns / MS, conn, frame))
            self._inputs.append(lambda frame=frame: self._react(conn, frame))  # type: ignore[misc]

    def close(self, conn: int) -> None:
        self.closed_by_client.append(conn)

    def completed(self, op: int, result: Result) -> None:
        assert op not in self.results, f"operation {op} ended twice"
        self.results[op] = result
        self.order.append(op)

    def delivered(self, consumer: int, delivery: Delivery) -> None:
        assert consumer == CONSUMER
        self.deliveries.append(delivery)

    # --- the application ---

    def next_op(self) -> int:
        self._ops += 1
        return self._ops

    def open_producer(self, **config: Any) -> int:
        op = self.next_op()
        self.core.open_producer(op, PRODUCER, TOPIC, settings(ProducerSettings, config), self.now_ns)
        self.run()
        return op

    def open_consumer(self, *topics: str, **config: Any) -> int:
        op = self.next_op()
        self.core.open_consumer(op, CONSUMER, topics or [TOPIC], "s", settings(ConsumerSettings, config), self.now_ns)
        self.run()
        return op

    def open_pattern(self, pattern: str) -> int:
        op = self.next_op()
        self.core.open_consumer(op, CONSUMER, [TOPIC], "s", ConsumerSettings(), self.now_ns, pattern=pattern)
        self.run()
        return op

    def send(self, *payloads: bytes, sync: bool = False, **fields: Any) -> list[int]:
        ops = [self.next_op() for _ in payloads]
        for op, payload in zip(ops, payloads, strict=True):
            self.core.send(op, PRODUCER, Outgoing(payload, **fields), self.now_ns, sync=sync)
        self.run()
        return ops

    def flush(self) -> int:
        op = self.next_op()
        self.core.flush(op, PRODUCER, self.now_ns)
        self.run()
        return op

    def close_handle(self, handle: int) -> int:
        op = self.next_op()
        self.core.close(op, handle, self.now_ns)
        self.run()
        return op

    def receive(self, count: int, timeout_ms: int = 0) -> int:
        op = self.next_op()
        self.core.receive(op, CONSUMER, count, timeout_ms, self.now_ns)
        self.run()
        self.advance(0)
        return op

    def ack(self, *numbers: int, cumulative: bool = False) -> int:
        op = self.next_op()
        self.core.ack(op, CONSUMER, numbers, self.now_ns, cumulative=cumulative)
        self.run()
        return op

    def reconsume_later(self, *numbers: int, delay_ms: int = 0) -> int:
        op = self.next_op()
        self.core.reconsume_later(op, CONSUMER, numbers, delay_ms, self.now_ns)
        self.run()
        return op

    def nack(self, *numbers: int) -> int:
        op = self.next_op()
        self.core.nack(op, CONSUMER, numbers, self.now_ns)
        self.run()
        return op

    def seek(self, entry: int) -> int:
        op = self.next_op()
        self.core.seek(op, CONSUMER, self.now_ns, message_id=MessageId(7, entry))
        self.run()
        return op

    # --- time and network ---

    def advance(self, ms: float) -> None:
        """Let time pass, waking the client whenever it wants to be."""
        end_ns = self.now_ns + round(ms * MS)
        while (due_ns := self.core.next_deadline_ns()) is not None and due_ns <= end_ns:
            self.now_ns = max(self.now_ns, due_ns)
            self.core.advance(self.now_ns)
            self.run()
        self.now_ns = end_ns

    def run(self) -> None:
        """Everything the network has to bring."""
        if self._running:
            return
        self._running = True
        while self._inputs:
            self._inputs.popleft()()
        self._running = False

    def cut(self) -> None:
        """The newest connection ends."""
        self.core.closed(self.conn, self.now_ns)
        self.run()

    @property
    def conn(self) -> int:
        """The newest connection."""
        return len(self.urls) - 1

    def deliver(self, data: bytes) -> None:
        self.core.received(self.conn, data, self.now_ns)
        self.run()

    def tell(self, command_type: CommandType, **fields: Any) -> None:
        self.deliver(encode(command(command_type, **fields)))

    # --- the broker ---

    def receipt(self, *sequence_ids: int) -> None:
        """Receipts in one segment, each for entry = sequence id."""
        self.deliver(b"".join(self._receipt(number, number) for number in sequence_ids))

    def chunk_receipts(self, sequence_id: int, entries: Sequence[int]) -> None:
        """Receipts of chunks: one sequence id, an entry each."""
        self.deliver(b"".join(self._receipt(sequence_id, entry) for entry in entries))

    def duplicate_receipt(self, sequence_id: int) -> None:
        self.deliver(self._receipt(sequence_id, NO_ID))

    def _receipt(self, sequence_id: int, entry: int) -> bytes:
        ledger = NO_ID if entry == NO_ID else 7
        return encode(
            command(
                C.SEND_RECEIPT,
                producer_id=self.producer_id,
                sequence_id=sequence_id,
                message_id={"ledgerId": ledger, "entryId": entry},
            )
        )

    def message(self, entry: int, payload: bytes = b"payload", redelivery_count: int = 0, **metadata: Any) -> None:
        self.deliver(message(entry, payload, redelivery_count, **metadata))

    def batch(self, entry: int, *payloads: bytes, ack_set: Sequence[int] = (), redelivery_count: int = 0) -> None:
        members = [Member(SingleMessageMetadata(sequence_id=i, payload_size=0), p) for i, p in enumerate(payloads)]
        built = _metadata(entry, num_messages_in_batch=len(payloads))
        self.deliver(
            encode(_message_command(entry, ack_set, redelivery_count), metadata=built, data=encode_batch(members))
        )

    def chunk(self, entry: int, uuid: str, chunk: int, of: int, payload: bytes, total: int) -> None:
        self.message(entry, payload, uuid=uuid, chunk_id=chunk, num_chunks_from_msg=of, total_chunk_msg_size=total)

    # --- what the client wrote ---

    def written(self, command_type: CommandType, conn: int | None = None) -> list[Frame]:
        return [frame for _, at, frame in self.frames if frame.type is command_type and conn in (None, at)]

    def times(self, command_type: CommandType) -> list[float]:
        return [ms for ms, _, frame in self.frames if frame.type is command_type]

    def sent_ids(self, conn: int | None = None) -> list[int]:
        return [frame.body.sequence_id for frame in self.written(C.SEND, conn)]

    def sent_payloads(self, conn: int | None = None) -> list[bytes]:
        return [bytes(frame.payload.data) for frame in self.written(C.SEND, conn) if frame.payload is not None]

    def acked(self) -> list[tuple[int, ...]]:
        """Entries named by each ACK."""
        return [tuple(named.entryId for named in frame.body.message_id) for frame in self.written(C.ACK)]

    def permits(self) -> list[int]:
        return [frame.body.messagePermits for frame in self.written(C.FLOW)]

    # --- answers by table ---

    def _react(self, conn: int, frame: Frame) -> None:
        if frame.type is C.PRODUCER:
            self.producer_id = frame.body.producer_id
        answer = _ANSWERS.get(frame.type)
        if answer is not None and frame.type not in self.silent and conn not in self.closed_by_client:
            self.core.received(conn, encode(answer(self, frame.body)), self.now_ns)

    def answer(self, frame: Frame) -> None:
        """Give a request the answer that `silent` withheld."""
        self.deliver(encode(_ANSWERS[frame.type](self, frame.body)))


def message(entry: int, payload: bytes = b"payload", redelivery_count: int = 0, **metadata: Any) -> bytes:
    """A MESSAGE frame of consumer 0."""
    return encode(_message_command(entry, (), redelivery_count), metadata=_metadata(entry, **metadata), data=payload)


def corrupted(frame: bytes) -> bytes:
    """The same with the last bit of its payload flipped."""
    return frame[:-1] + bytes([frame[-1] ^ 1])


def _message_command(entry: int, ack_set: Sequence[int] = (), redelivery_count: int = 0) -> BaseCommand:
    named = {"ledgerId": 7, "entryId": entry}
    return command(C.MESSAGE, consumer_id=0, message_id=named, ack_set=ack_set, redelivery_count=redelivery_count)


def _metadata(entry: int, **fields: Any) -> MessageMetadata:
    return MessageMetadata(producer_name="p", sequence_id=entry, publish_time=1, **fields)


def _success(_peer: Peer, body: Any) -> BaseCommand:
    return command(C.SUCCESS, request_id=body.request_id)


def _producer_success(peer: Peer, body: Any) -> BaseCommand:
    return command(
        C.PRODUCER_SUCCESS,
        request_id=body.request_id,
        producer_name=body.producer_name or "made-up",
        last_sequence_id=peer.last_sequence_id,
    )


_ANSWERS: dict[CommandType | int, Callable[[Peer, Any], BaseCommand]] = {
    C.CONNECT: lambda peer, _: command(
        C.CONNECTED,
        server_version="x",
        protocol_version=peer.protocol_version,
        max_message_size=peer.max_message_bytes,
        feature_flags={"supports_topic_watchers": True},
    ),
    C.GET_TOPICS_OF_NAMESPACE: lambda _, body: command(
        C.GET_TOPICS_OF_NAMESPACE_RESPONSE, request_id=body.request_id, topics=[TOPIC]
    ),
    C.WATCH_TOPIC_LIST: lambda _, body: command(
        C.WATCH_TOPIC_LIST_SUCCESS,
        request_id=body.request_id,
        watcher_id=body.watcher_id,
        topic=[TOPIC],
        topics_hash="h",
    ),
    C.PARTITIONED_METADATA: lambda peer, body: command(
        C.PARTITIONED_METADATA_RESPONSE, request_id=body.request_id, partitions=peer.partitions, response=0
    ),
    C.LOOKUP: lambda _, body: command(
        C.LOOKUP_RESPONSE, request_id=body.request_id, response=1, brokerServiceUrl=URL, authoritative=True
    ),
    C.PRODUCER: _producer_success,
    C.SUBSCRIBE: _success,
    C.CLOSE_PRODUCER: _success,
    C.CLOSE_CONSUMER: _success,
    C.UNSUBSCRIBE: _success,
}
