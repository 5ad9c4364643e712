"""Feeds the client's side of a recording to a cluster, in virtual time, and compares what comes back."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec
from tests.replay.normal import ERASED, NAMESPACES, TOLD, TURNS
from tests.replay.reading import Line, Recording

from assay_conformance.broker import Cluster
from assay_conformance.broker.names import parse
from assay_conformance.broker.rules import RefusalError
from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.event import MessageId
from assay_conformance.model.fault import Direction
from assay_conformance.model.policy import Policies
from assay_conformance.pulsar.mutants import overrides_of
from assay_conformance.wire import NO_ID, BaseCommand, CommandType, Frame, Payload, decode, encode_around
from assay_conformance.wire.pulsar_pb2 import CommandSubscribe
from assay_fixtures.differential.normal import message_ids, normal, one_line

NS_PER_US = 1000
UNREAD_US = 1000

Stream = tuple[int, str, int]
"""Connection, and the request, producer or consumer on it: what has an order."""


@dataclass(frozen=True)
class Answer:
    """What a broker did to a connection: a frame, or None for closing it."""

    us: int
    frame: Frame | None


@dataclass
class Answers:
    """A sink that keeps what the cluster answers, by stream."""

    stream_of: Callable[[int, Frame], Stream]
    now_us: int = 0
    streams: dict[Stream, deque[Answer]] = field(default_factory=lambda: defaultdict(deque))

    def send(self, conn: int, frame: Frame) -> None:
        self.streams[self.stream_of(conn, frame)].append(Answer(self.now_us, frame))

    def close(self, conn: int) -> None:
        self.streams[conn, "end", 0].append(Answer(self.now_us, None))

    def pause_reading(self, conn: int) -> None: ...

    def resume_reading(self, conn: int) -> None: ...

    def is_writable(self, conn: int) -> bool:  # noqa: ARG002
        return True

    def is_flooded(self, conn: int) -> bool:  # noqa: ARG002
        return False

    def stored(self, topic: str, id: MessageId, payload: Payload) -> None: ...


def stream_of(conn: int, frame: Frame) -> Stream:
    body = frame.body
    own_close = body is not None and getattr(body, "request_id", None) == NO_ID
    for name in ("producer_id", "consumer_id") if own_close else ("request_id", "producer_id", "consumer_id"):
        if hasattr(body, name):
            return conn, name, getattr(body, name)
    return conn, CommandType(frame.type).name, 0


class Replay:
    """One recording against one cluster. `differences` says what was not equal, one sentence each."""

    def __init__(self, recording: Recording, mutations: frozenset[str]) -> None:
        self.differences: list[str] = []
        self._recording = recording
        self._sink = Answers(self._stream_of)
        self._ledgers: dict[int, int] = {}
        self._names: dict[str, str] = {}
        self._turns = turn_takers(recording) if recording.name in TURNS else {}
        self._ends = {line.conn: line.us for line in recording.lines if _is_client_end(line)}
        topics = list(topics_of(recording))
        self._topics = topics
        self._cluster = Cluster(
            Topology(topics=tuple(topics)),
            self._sink,
            urls=["pulsar://127.0.0.1:6650"],
            topics={topic.name: topic.name for topic in topics},
            overrides=overrides_of(mutations),
            unix_ms=began_ms(recording),
        )
        for namespace in NAMESPACES:
            if not self._cluster.topics.has_namespace(namespace):
                self._cluster.topics.policies.set_namespace(namespace, Policies())

    def run(self) -> list[str]:
        told = TOLD.get(self._recording.name)
        for line in self._recording.lines:
            if told is not None and told.us <= line.us:
                self._advance(told.us)
                self._cluster.command(told.verb, {"topic": self._topics[0].name}, told.us * NS_PER_US)
                told = None
            self._advance(line.us)
            if line.direction is Direction.TO_BROKER:
                self._feed(line)
            else:
                self._expect(line)
        self._compare_rest()
        return self.differences

    def _stream_of(self, conn: int, frame: Frame) -> Stream:
        if frame.type == CommandType.MESSAGE and (conn, frame.body.consumer_id) in self._turns:
            return conn, "Shared consumers", self._turns[conn, frame.body.consumer_id]
        return stream_of(conn, frame)

    def _advance(self, us: int) -> None:
        """Wake the cluster at each of its deadlines up to this moment."""
        while (deadline_ns := self._cluster.next_deadline_ns()) is not None and deadline_ns <= us * NS_PER_US:
            self._sink.now_us = max(self._sink.now_us, deadline_ns // NS_PER_US)
            self._cluster.advance(deadline_ns)
        self._sink.now_us = us

    # --- the client's side ------------------------------------------------------------------------------------------

    def _feed(self, line: Line) -> None:
        now_ns = line.us * NS_PER_US
        if line.event == "open":
            self._cluster.opened(line.conn, 0, now_ns)
        elif line.event:
            self._cluster.closed(line.conn, now_ns)
        elif (frame := line.frame) is None:
            self._cluster.undecodable(line.conn, now_ns)
        else:
            self._cluster.received(line.conn, self._translated(frame), now_ns)

    def _translated(self, frame: Frame) -> Frame:
        """The client's frame, with the ids and names this cluster gave in place of the recorded ones."""
        command = BaseCommand()
        command.CopyFrom(frame.command)
        for position in message_ids(command):
            position.ledgerId = self._ledgers.get(position.ledgerId, position.ledgerId)
        if command.HasField("producer") and command.producer.producer_name in self._names:
            command.producer.producer_name = self._names[command.producer.producer_name]
        return decode(encode_around(command, frame.payload.block if frame.payload is not None else None))

    # --- the broker's side ------------------------------------------------------------------------------------------

    def _expect(self, line: Line) -> None:
        if line.event:
            if self._ends.get(line.conn, line.us + 1) < line.us:
                return
            stream, recorded = (line.conn, "end", 0), None
        else:
            recorded = line.frame or decode(line.raw or b"")
            stream = self._stream_of(line.conn, recorded)
        answers = self._sink.streams[stream]
        if not answers:
            self.differences.append(f"{_where(line.us, stream)}: expected {_show(recorded)}, nothing came")
            return
        ours = answers.popleft()
        if recorded is None or ours.frame is None:
            if recorded is not ours.frame:
                self.differences.append(
                    f"{_where(line.us, stream)}: expected {_show(recorded)}, got {_show(ours.frame)}"
                )
            return
        if line.opening is not None:
            if recorded.type != ours.frame.type:
                self.differences.append(f"{_where(line.us, stream)}: expected {line.opening}, got {_show(ours.frame)}")
            return
        self._learn(recorded, ours.frame)
        self._compare(line.us, stream, recorded, ours.frame)

    def _learn(self, recorded: Frame, ours: Frame) -> None:
        if recorded.type != ours.type:
            return
        for theirs, mine in zip(message_ids(recorded.command), message_ids(ours.command), strict=False):
            if theirs.ledgerId != NO_ID:
                self._ledgers.setdefault(theirs.ledgerId, mine.ledgerId)
        if recorded.type == CommandType.PRODUCER_SUCCESS:
            self._names.setdefault(recorded.body.producer_name, ours.body.producer_name)

    def _compare(self, us: int, stream: Stream, recorded: Frame, ours: Frame) -> None:
        expected, got = self._renamed(recorded), normal(ours.command, ERASED)
        if stream[1] == "Shared consumers":
            expected.message.consumer_id = got.message.consumer_id
        same_payload = (recorded.payload is None) == (ours.payload is None) and (
            recorded.payload is None or ours.payload is None or recorded.payload.block == ours.payload.block
        )
        if expected != got or not same_payload:
            what = "" if same_payload else " with other payload bytes"
            self.differences.append(f"{_where(us, stream)}: expected {one_line(expected)}, got {one_line(got)}{what}")

    def _renamed(self, recorded: Frame) -> BaseCommand:
        command = BaseCommand()
        command.CopyFrom(recorded.command)
        for position in message_ids(command):
            position.ledgerId = self._ledgers.get(position.ledgerId, position.ledgerId)
        if command.HasField("producer_success"):
            name = command.producer_success.producer_name
            command.producer_success.producer_name = self._names.get(name, name)
        return normal(command, ERASED)

    def _compare_rest(self) -> None:
        """What came and was not recorded, but for what the client did not stay to read."""
        for stream, answers in self._sink.streams.items():
            for answer in answers:
                if answer.us < self._ends.get(stream[0], 1 << 62) - UNREAD_US:
                    self.differences.append(
                        f"{_where(answer.us, stream)}: nothing was recorded, got {_show(answer.frame)}"
                    )


def replay(recording: Recording, *mutations: str) -> list[str]:
    """What this broker answers differently from the recorded one."""
    return Replay(recording, frozenset(mutations)).run()


def turn_takers(recording: Recording) -> dict[tuple[int, int], int]:
    """The Shared consumers of a recording, (connection, consumer id) -> number of their subscription."""
    numbers: dict[tuple[str, str], int] = {}
    found = {}
    for line in recording.lines:
        frame = line.frame
        if frame is not None and frame.type == CommandType.SUBSCRIBE and frame.body.subType == CommandSubscribe.Shared:
            number = numbers.setdefault((frame.body.topic, frame.body.subscription), len(numbers))
            found[line.conn, frame.body.consumer_id] = number
    return found


def began_ms(recording: Recording) -> int:
    """The wall clock when a recording began, as its first SEND tells; the day time begins where it has none."""
    for line in recording.lines:
        frame = line.frame
        if frame is not None and frame.type == CommandType.SEND and frame.payload is not None:
            return frame.payload.metadata.publish_time - line.us // 1000
    return 0


def topics_of(recording: Recording) -> Iterable[Topic]:
    """The topics a recording speaks of, with the partitions and policies they had."""
    partitions: dict[str, int] = {}
    asked: dict[tuple[int, int], str] = {}
    for frame_line in recording.lines:
        frame = frame_line.frame
        if frame is None:
            continue
        if frame.type == CommandType.PARTITIONED_METADATA:
            asked[frame_line.conn, frame.body.request_id] = frame.body.topic
        elif frame.type == CommandType.PARTITIONED_METADATA_RESPONSE and frame.body.partitions:
            partitions[asked[frame_line.conn, frame.body.request_id]] = frame.body.partitions
        elif frame.type in (CommandType.PRODUCER, CommandType.SUBSCRIBE) and not _is_partition(frame.body.topic):
            partitions.setdefault(frame.body.topic, 0)
    for name, count in partitions.items():
        try:
            policy = NAMESPACES.get(parse(name).namespace, Topic(name=""))
        except RefusalError:
            continue
        yield msgspec.structs.replace(policy, name=name, partitions=count)


def _is_partition(topic: str) -> bool:
    return parse(topic).partition >= 0


def _is_client_end(line: Line) -> bool:
    return line.direction is Direction.TO_BROKER and line.event in ("eof", "reset")


def _where(us: int, stream: Stream) -> str:
    conn, kind, number = stream
    return f"{us} us, connection {conn}, {kind} {number}"


def _show(frame: Frame | None) -> str:
    return "the connection's end" if frame is None else one_line(frame.command)
