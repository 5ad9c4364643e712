"""How fast the embedded broker is, with the frame link mounted, ten idle triggers and the wire log going to disk.

    python bench/broker.py [--messages N] [--rounds N]

The load comes from a second process, encoded beforehand, so what is measured is the broker's process alone. Each figure
is the median of the rounds, with the range; memory is the broker process's peak.

Goals on two cores: 20,000 unbatched 1 KiB SENDs/s, 15,000 MESSAGEs/s dispatched and acknowledged, 100,000 batched
messages/s with every member's metadata in the log.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import resource
import socket
import statistics
import struct
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import uvloop

from assay_conformance.history.recorder import Recorder
from assay_conformance.model.case import Topology
from assay_conformance.model.fault import Direction, Drop, Fault, OnFrame
from assay_conformance.model.schema import FileKind
from assay_conformance.wire import (
    CommandType,
    Member,
    MessageMetadata,
    SingleMessageMetadata,
    Splitter,
    command,
    decode,
    encode,
    encode_batch,
)
from assay_faults.network import SocketNetwork
from assay_fixtures.brokers.embedded import EmbeddedWorld, full_topics
from assay_fixtures.clock import MonotonicClock
from assay_fixtures.runner.folder import LineFile

PAYLOAD = bytes(range(256)) * 4
BATCH = 100
MEMBER = bytes(range(100))
GOALS = {"send": 20_000, "dispatch": 15_000, "batch": 100_000}

IDLE_TRIGGERS = tuple(
    Fault(trigger=OnFrame(command=name, direction=direction, k=1_000_000_000), action=Drop(), optional=True)
    for name, direction in (
        ("SEND", Direction.TO_BROKER),
        ("SEND", Direction.TO_BROKER),
        ("SEND_RECEIPT", Direction.TO_CLIENT),
        ("SEND_RECEIPT", Direction.TO_CLIENT),
        ("MESSAGE", Direction.TO_CLIENT),
        ("MESSAGE", Direction.TO_CLIENT),
        ("ACK", Direction.TO_BROKER),
        ("ACK", Direction.TO_BROKER),
        ("FLOW", Direction.TO_BROKER),
        ("PING", Direction.TO_CLIENT),
    )
)


# --- the broker's process --------------------------------------------------------------------------------------------


def serve(control: Connection, log: str) -> None:
    """Serve one world until asked to end, and answer with the peak memory in MiB."""
    uvloop.run(_serve(control, Path(log)))


async def _serve(control: Connection, log: Path) -> None:
    clock = MonotonicClock()
    began_ns = clock.now_ns()

    def now_ns() -> int:
        return clock.now_ns() - began_ns

    topology = Topology()
    topics = full_topics(topology, "bench")
    with LineFile(log, FileKind.HISTORY) as history:
        world = EmbeddedWorld(
            topology, IDLE_TRIGGERS, topics, Recorder(now_ns, history.add), SocketNetwork(), now_ns, clock.unix_ms()
        )
        await world.start()
        control.send((world.service_url, topics["t"]))
        loop = asyncio.get_running_loop()
        told = asyncio.Event()
        loop.add_reader(control.fileno(), told.set)
        await told.wait()
        world.close()
    control.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


# --- the load --------------------------------------------------------------------------------------------------------


class Peer:
    """A blocking raw client that counts frames without decoding them."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("pulsar://").split(":")
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._splitter = Splitter()
        self.ask(CommandType.CONNECT, client_version="bench", protocol_version=21)

    def ask(self, kind: CommandType, **fields: object) -> bytes:
        """Send one command; return the first frame that comes back, PINGs aside."""
        self.socket.sendall(encode(command(kind, **fields)))
        while True:
            for raw in self._splitter.feed(self.socket.recv(1 << 16)):
                if decode(raw).type is not CommandType.PING:
                    return raw


def _frames(count: int, entry: bytes, *, batched: int | None) -> list[bytes]:
    frames = []
    for number in range(count):
        metadata = MessageMetadata(producer_name="bench", sequence_id=number, publish_time=1)
        if batched is not None:
            metadata.num_messages_in_batch = batched
        head = command(CommandType.SEND, producer_id=0, sequence_id=number, num_messages=batched or 1)
        frames.append(encode(head, metadata=metadata, data=entry))
    return frames


def _pieces(frames: list[bytes], bytes_a_piece: int = 1 << 17) -> Iterator[bytes]:
    piece: list[bytes] = []
    size = 0
    for frame in frames:
        piece.append(frame)
        size += len(frame)
        if size >= bytes_a_piece:
            yield b"".join(piece)
            piece, size = [], 0
    yield b"".join(piece)


def _pump(peer: Peer, outgoing: Iterator[bytes], expected: int) -> float:
    """Write and read at once until `expected` frames came back; return the seconds that took."""
    sock = peer.socket
    sock.setblocking(False)
    started = time.perf_counter()
    pending, counter, more = b"", FrameCounter(), True
    while counter.frames < expected:
        if not pending and more:
            pending = next(outgoing, b"")
            more = bool(pending)
        try:
            if pending:
                pending = pending[sock.send(pending) :]
        except BlockingIOError:
            pass
        try:
            counter.feed(sock.recv(1 << 18))
        except BlockingIOError:
            if not pending or not more:
                time.sleep(0.0002)
    sock.setblocking(True)
    return time.perf_counter() - started


class FrameCounter:
    """Counts whole frames in a byte stream by their lengths alone."""

    def __init__(self) -> None:
        self.frames = 0
        self._size = b""
        self._missing = 0

    def feed(self, data: bytes) -> None:
        # Nothing is kept but the start of a size: a large frame that comes in many pieces costs nothing.
        size = len(data)
        if self._missing > size:
            self._missing -= size
            return
        at = self._missing
        self.frames += self._missing > 0
        if self._size:
            data, size = self._size + data, size + len(self._size)
        while size - at >= 4:
            end = at + 4 + struct.unpack_from(">I", data, at)[0]
            if end > size:
                self._size, self._missing = b"", end - size
                return
            self.frames += 1
            at = end
        self._size, self._missing = data[at:], 0


def _open_producer(peer: Peer, topic: str) -> None:
    peer.ask(CommandType.PRODUCER, topic=topic, producer_id=0, request_id=1, producer_name="bench")


def _send(url: str, topic: str, count: int) -> float:
    peer = Peer(url)
    _open_producer(peer, topic)
    frames = _frames(count, PAYLOAD, batched=None)
    return count / _pump(peer, _pieces(frames), count)


def _batch(url: str, topic: str, count: int) -> float:
    peer = Peer(url)
    _open_producer(peer, topic)
    members = [Member(SingleMessageMetadata(payload_size=len(MEMBER), sequence_id=i), MEMBER) for i in range(BATCH)]
    frames = _frames(count // BATCH, encode_batch(members), batched=BATCH)
    return count / _pump(peer, _pieces(frames), len(frames))


def _dispatch(url: str, topic: str, count: int) -> float:
    """Measure dispatch: messages are stored first, and then each dispatched message is acknowledged by its own
    frame."""
    peer = Peer(url)
    _open_producer(peer, topic)
    frames = _frames(count, PAYLOAD, batched=None)
    first = decode(peer_send_one(peer, frames[0])).body.message_id.ledgerId
    _pump(peer, _pieces(frames[1:]), count - 1)
    consumer = Peer(url)
    consumer.ask(
        CommandType.SUBSCRIBE,
        topic=topic,
        subscription="s",
        subType=1,
        consumer_id=0,
        request_id=1,
        initialPosition=1,
    )
    acks = [
        encode(command(CommandType.ACK, consumer_id=0, ack_type=0, message_id=[{"ledgerId": first, "entryId": entry}]))
        for entry in range(count)
    ]
    flow = encode(command(CommandType.FLOW, consumer_id=0, messagePermits=2 * count))
    return count / _consume(consumer, flow, acks)


def peer_send_one(peer: Peer, frame: bytes) -> bytes:
    peer.socket.sendall(frame)
    splitter = Splitter()
    while True:
        if frames := splitter.feed(peer.socket.recv(1 << 16)):
            return frames[0]


def _consume(peer: Peer, flow: bytes, acks: list[bytes]) -> float:
    counter, answered, expected = FrameCounter(), 0, len(acks)
    started = time.perf_counter()
    peer.socket.sendall(flow)
    while counter.frames < expected:
        counter.feed(peer.socket.recv(1 << 18))
        peer.socket.sendall(b"".join(acks[answered : counter.frames]))
        answered = counter.frames
    peer.ask(CommandType.CONSUMER_STATS, request_id=2, consumer_id=0)
    return time.perf_counter() - started


LOADS = {"send": _send, "dispatch": _dispatch, "batch": _batch}


@dataclass(frozen=True, slots=True)
class Round:
    rate: float
    peak_mib: int


def measure(load: str, count: int, folder: Path) -> Round:
    """Measure one load against a fresh broker process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, str(folder / f"{load}.jsonl")))
    process.start()
    url, topic = ours.recv()
    try:
        rate = LOADS[load](url, topic, count)
        ours.send("end")
        return Round(rate, ours.recv())
    finally:
        process.join(10)
        process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for load in LOADS:
        count = options.messages * (10 if load == "batch" else 1)
        with tempfile.TemporaryDirectory() as folder:
            rounds = [measure(load, count, Path(folder)) for _ in range(options.rounds)]
        rates = sorted(round.rate for round in rounds)
        peak_mib = max(round.peak_mib for round in rounds)
        print(
            f"{load:9} {statistics.median(rates):>9,.0f} messages/s  ({rates[0]:,.0f} .. {rates[-1]:,.0f})"
            f"  goal {GOALS[load]:>7,}  peak {peak_mib} MiB  ({options.rounds} rounds of {count:,})"
        )


if __name__ == "__main__":
    main()
