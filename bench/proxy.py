"""What the frame proxy costs, decoding every frame and writing the wire log to disk, beside other ways to a server.

    python -m bench.proxy [--rounds N] [--toxiproxy PROGRAM]

One run measures all ways in turn, round after round, so that they can be compared: no proxy at all; a real toxiproxy
without toxics, if there is one (`assay tools install toxiproxy`); a proxy of bare bytes on the same event loop; and the
frame proxy, with ten idle triggers. Server and load are processes of their own that decode nothing. Figures are
medians of the rounds, with the range. `CPU` is what the proxy's process used, so a rate of it holds for one core
whatever else the machine does; the other rates need an idle machine.

Goals: bulk at least 60 % of toxiproxy's on frames of 1 MiB; 15,000 SENDs of 1 KiB, with their receipts 30,000 frames,
a second of CPU; a ping-pong of a 1 KiB SEND and its receipt at most 150 us longer than without a proxy, at p50.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar, cast

import uvloop
from bench.broker import IDLE_TRIGGERS, FrameCounter

from assay_conformance.history.recorder import Recorder
from assay_conformance.model.schema import FileKind
from assay_conformance.wire import (
    CommandType,
    Member,
    MessageMetadata,
    SingleMessageMetadata,
    command,
    encode,
    encode_batch,
    message_id,
)
from assay_faults.network import SocketNetwork
from assay_faults.proxy import FrameProxy
from assay_fixtures.clock import MonotonicClock
from assay_fixtures.runner.folder import LineFile
from assay_fixtures.tools import toxiproxy

T = TypeVar("T")
KIB, MIB = 1 << 10, 1 << 20
BATCH = 100
MEMBER = bytes(range(100))
RECEIPT = encode(
    command(CommandType.SEND_RECEIPT, producer_id=0, sequence_id=0, message_id=message_id(1, 0), highest_sequence_id=0)
)
TICKS = os.sysconf("SC_CLK_TCK")


def _send(sequence_id: int, data: bytes, batch: int | None = None) -> bytes:
    metadata = MessageMetadata(producer_name="bench", sequence_id=sequence_id, publish_time=1)
    if batch is not None:
        metadata.num_messages_in_batch = batch
    head = command(CommandType.SEND, producer_id=0, sequence_id=sequence_id, num_messages=batch or 1)
    return encode(head, metadata=metadata, data=data)


# --- the processes between which it all happens ----------------------------------------------------------------------


def serve(control: Connection) -> None:
    """Answer every frame with a receipt, one connection after the other."""
    listener = socket.create_server(("127.0.0.1", 0))
    control.send(listener.getsockname()[1])
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        counter, answered = FrameCounter(), 0
        while data := connection.recv(MIB):
            counter.feed(data)
            connection.sendall(RECEIPT * (counter.frames - answered))
            answered = counter.frames
        connection.close()


def proxy_frames(control: Connection, port: int, log: str) -> None:
    uvloop.run(_proxy_frames(control, port, Path(log)))


async def _proxy_frames(control: Connection, port: int, log: Path) -> None:
    clock = MonotonicClock()
    with LineFile(log, FileKind.HISTORY) as history:
        recorder = Recorder(clock.now_ns, history.add)
        proxy = FrameProxy(IDLE_TRIGGERS, {}, recorder, SocketNetwork(), clock.now_ns)
        await proxy.start([f"pulsar://127.0.0.1:{port}"])
        control.send(int(proxy.urls[0].rpartition(":")[2]))
        await asyncio.Event().wait()


def proxy_bytes(control: Connection, port: int) -> None:
    uvloop.run(_proxy_bytes(control, port))


async def _proxy_bytes(control: Connection, port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Bytes(port), "127.0.0.1", 0)
    control.send(server.sockets[0].getsockname()[1])
    await asyncio.Event().wait()


class _Bytes(asyncio.Protocol):
    """One end of a pair that passes bytes on; without a `port` it is the other one."""

    def __init__(self, port: int = 0, other: _Bytes | None = None) -> None:
        self._port = port
        self._other = other
        self._early: list[bytes] = []
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._other is None:
            self._other = far = _Bytes(other=self)
            loop = asyncio.get_running_loop()
            self._dial = loop.create_task(loop.create_connection(lambda: far, "127.0.0.1", self._port))
        for data in self._early:
            self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        assert self._other is not None
        self._other.put(data)

    def put(self, data: bytes) -> None:
        if self._transport is None:
            self._early.append(data)
        else:
            self._transport.write(data)

    def pause_writing(self) -> None:
        if self._other is not None and self._other._transport is not None:
            self._other._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._other is not None and self._other._transport is not None:
            self._other._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if self._other is not None and self._other._transport is not None:
            self._other._transport.close()


# --- the ways --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Way:
    """How to get to the server: where to connect, and the process between, if there is one."""

    name: str
    port: int
    pid: int | None = None

    def cpu_s(self) -> float:
        """Return the CPU seconds that the process has used up to now."""
        if self.pid is None:
            return 0.0
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def _process(target: Callable[..., None], *arguments: object) -> Iterator[tuple[int, int]]:
    """Start a process that reports its port; yield the port and the pid."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    try:
        yield ours.recv(), cast(int, process.pid)
    finally:
        process.kill()
        process.join()


@contextmanager
def _toxiproxy(program: Path, port: int) -> Iterator[Way]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        api = free.getsockname()[1]
    process = subprocess.Popen(
        [program, "-host", "127.0.0.1", "-port", str(api)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        body = json.dumps({"name": "bench", "listen": "127.0.0.1:0", "upstream": f"127.0.0.1:{port}", "enabled": True})
        request = urllib.request.Request(f"http://127.0.0.1:{api}/proxies", body.encode(), method="POST")
        with _patiently(lambda: urllib.request.urlopen(request, timeout=5)) as answer:
            listen = json.load(answer)["listen"]
        yield Way("toxiproxy", int(listen.rpartition(":")[2]), process.pid)
    finally:
        process.kill()
        process.wait()


def _patiently(attempt: Callable[[], T]) -> T:
    deadline_s = time.monotonic() + 10
    while True:
        try:
            return attempt()
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.02)


# --- the loads -------------------------------------------------------------------------------------------------------


def _connect(way: Way) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", way.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _stream(connection: socket.socket, frame: bytes, count: int) -> float:
    """Write so many frames while reading their receipts; return the seconds that took."""
    connection.setblocking(False)
    piece = memoryview(frame * max(1, (128 * KIB) // len(frame)))
    left, rest = len(frame) * count, memoryview(b"")
    counter = FrameCounter()
    began_s = time.perf_counter()
    while counter.frames < count:
        moved = False
        if not rest and left:
            rest = piece[: min(left, len(piece))]
            left -= len(rest)
        try:
            if rest:
                rest = rest[connection.send(rest) :]
                moved = True
        except BlockingIOError:
            pass
        try:
            counter.feed(connection.recv(256 * KIB))
            moved = True
        except BlockingIOError:
            pass
        if not moved:
            time.sleep(0.0001)
    connection.setblocking(True)
    return time.perf_counter() - began_s


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of one round of one way: by the clock, and where a process is between, a second of its CPU."""

    wall: float
    cpu: float | None = None


def _rate(way: Way, frame: bytes, count: int, units: float) -> Figure:
    with _connect(way) as connection:
        _stream(connection, frame, max(1, count // 20))
        before_s = way.cpu_s()
        took_s = _stream(connection, frame, count)
        used_s = way.cpu_s() - before_s
    return Figure(units / took_s, units / used_s if used_s else None)


def unbatched(way: Way) -> Figure:
    """Measure unbatched sends: a SEND and its receipt are two frames."""
    return _rate(way, _send(1, bytes(KIB)), 30_000, 2 * 30_000)


def batched(way: Way) -> Figure:
    members = [Member(SingleMessageMetadata(payload_size=len(MEMBER), sequence_id=i), MEMBER) for i in range(BATCH)]
    return _rate(way, _send(1, encode_batch(members), BATCH), 2_000, 2_000 * BATCH)


def bulk(way: Way) -> Figure:
    return _rate(way, _send(1, os.urandom(MIB)), 400, 400 * MIB / 1e6)


def ping_pong(way: Way) -> list[float]:
    """Return the sorted microseconds from a SEND to its receipt, each alone on its way."""
    frame = _send(1, bytes(KIB))
    took_us = []
    with _connect(way) as connection:
        for _ in range(3_000):
            began_s = time.perf_counter()
            connection.sendall(frame)
            got = 0
            while got < len(RECEIPT):
                got += len(connection.recv(KIB))
            took_us.append((time.perf_counter() - began_s) * 1e6)
    return sorted(took_us[500:])


LOADS: Sequence[tuple[str, Callable[[Way], Figure], str]] = (
    ("unbatched, 1 KiB SENDs and their receipts", unbatched, "frames/s"),
    ("batched, 100 x 100 B", batched, "messages/s"),
    ("bulk, 1 MiB frames", bulk, "MB/s"),
)


# --- what it says ----------------------------------------------------------------------------------------------------


def _median(values: Sequence[float]) -> str:
    return f"{statistics.median(values):>10,.0f} ({min(values):,.0f} .. {max(values):,.0f})"


def _report_rates(title: str, unit: str, figures: dict[str, list[Figure]]) -> None:
    print(f"\n{title}")
    for name, rounds in figures.items():
        line = f"  {name:12}{_median([figure.wall for figure in rounds])} {unit}"
        by_cpu = [figure.cpu for figure in rounds if figure.cpu is not None]
        print(line + (f"{_median(by_cpu)} a CPU second" if by_cpu else ""))


def _report_ping_pong(figures: dict[str, list[list[float]]]) -> None:
    print("\nping-pong, 1 KiB SEND and its receipt")
    direct_us = statistics.median(statistics.median(round_us) for round_us in figures["direct"])
    for name, rounds in figures.items():
        p50 = statistics.median(statistics.median(round_us) for round_us in rounds)
        p99 = statistics.median(round_us[int(len(round_us) * 0.99)] for round_us in rounds)
        print(f"  {name:12} p50 {p50:6.0f} us  p99 {p99:6.0f} us  gains {p50 - direct_us:5.0f} us at p50")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--toxiproxy", type=Path, default=toxiproxy.look(), help="Its server, if not the cache's.")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        port, _ = stack.enter_context(_process(serve))
        ways = [Way("direct", port)]
        if options.toxiproxy is not None:
            ways.append(stack.enter_context(_toxiproxy(options.toxiproxy, port)))
        ways.append(Way("bare bytes", *stack.enter_context(_process(proxy_bytes, port))))
        ways.append(Way("frame proxy", *stack.enter_context(_process(proxy_frames, port, f"{folder}/log.jsonl"))))
        for title, load, unit in LOADS:
            figures: dict[str, list[Figure]] = {way.name: [] for way in ways}
            for _ in range(options.rounds):
                for way in ways:
                    figures[way.name].append(load(way))
            _report_rates(title, unit, figures)
        alone: dict[str, list[list[float]]] = {way.name: [] for way in ways}
        for _ in range(options.rounds):
            for way in ways:
                alone[way.name].append(ping_pong(way))
        _report_ping_pong(alone)


if __name__ == "__main__":
    main()
