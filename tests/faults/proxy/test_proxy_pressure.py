"""Who writes faster than the other side reads is stopped: what a connection may hold here is bounded."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import uvloop

from assay_conformance.history.recorder import Recorder
from assay_conformance.model.fault import Direction, Fault, Hold, OnFrame, Until
from assay_conformance.wire import CommandType, MessageMetadata, command, encode
from assay_faults.bounds import MOST_WAITING_BYTES
from assay_faults.network import SocketNetwork
from assay_faults.proxy import FrameProxy

MIB = 1 << 20
OFFERED = 192
HELD_AT_MOST_MIB = 40
"""Some frames of one MiB on their way through splitter and transport, and what the runtime keeps of freed ones."""
FRAME = encode(
    command(CommandType.SEND, producer_id=1, sequence_id=1),
    metadata=MessageMetadata(producer_name="p", sequence_id=1, publish_time=1),
    data=bytes(MIB),
)


async def _serve(ours: Connection, broker: str) -> None:
    clock = asyncio.get_running_loop().time
    recorder = Recorder(lambda: 0, lambda _event: None)
    proxy = FrameProxy((), {}, recorder, SocketNetwork(), lambda: round(clock() * 1e9))
    await proxy.start([broker])
    ours.send(proxy.urls[0])
    await asyncio.Event().wait()


def _serve_for_ever(ours: Connection, broker: str) -> None:
    uvloop.run(_serve(ours, broker))


@pytest.fixture
def ends() -> Iterator[tuple[int, socket.socket, socket.socket]]:
    """The process of a proxy, a client of it, and the server's end of that connection."""
    context = multiprocessing.get_context("fork")
    listener = socket.create_server(("127.0.0.1", 0))
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_serve_for_ever, args=(theirs, f"pulsar://127.0.0.1:{listener.getsockname()[1]}"), daemon=True
    )
    process.start()
    assert ours.poll(20), "the proxy did not start"
    port = int(ours.recv().rpartition(":")[2])
    near = socket.create_connection(("127.0.0.1", port))
    far, _ = listener.accept()
    assert process.pid is not None
    try:
        yield process.pid, near, far
    finally:
        for end in (near, far, listener):
            end.close()
        process.kill()
        process.join()


def _resident_mib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) // 1024


def _write_until_stopped(writer: socket.socket, data: memoryview) -> memoryview:
    """What is left when nothing more leaves for a second."""
    writer.settimeout(1.0)
    try:
        while data:
            data = data[writer.send(data) :]
    except TimeoutError:
        pass
    return data


@pytest.mark.parametrize("towards", list(Direction))
def test_fast_writer_is_stopped_by_a_slow_reader(
    ends: tuple[int, socket.socket, socket.socket], towards: Direction
) -> None:
    pid, near, far = ends
    writer, reader = (near, far) if towards is Direction.TO_BROKER else (far, near)
    before_mib = _resident_mib(pid)
    rest = _write_until_stopped(writer, memoryview(FRAME * OFFERED))
    assert rest
    assert _resident_mib(pid) - before_mib < HELD_AT_MOST_MIB
    writer.settimeout(20)
    reader.settimeout(20)
    rest_writer = threading.Thread(target=writer.sendall, args=(rest,))
    rest_writer.start()
    heard = 0
    while heard < len(FRAME) * OFFERED:
        heard += len(reader.recv(MIB))
    rest_writer.join()
    assert _resident_mib(pid) - before_mib < HELD_AT_MOST_MIB


def test_what_a_fault_keeps_is_bounded_too(tapped: Any) -> None:
    everything = OnFrame(command="SEND", direction=Direction.TO_BROKER)
    held = Fault(trigger=everything, action=Hold(), until=Until(after_ms=60_000))

    async def main(tap: Any) -> None:
        near, far = await tap.connect()
        offered = 3 * MOST_WAITING_BYTES // len(FRAME)
        for _ in range(offered):
            near.transport.write(FRAME)
        await asyncio.sleep(1)
        assert tap.proxy.link.waiting_bytes(0, Direction.TO_BROKER) < MOST_WAITING_BYTES + 2 * len(FRAME)
        tap.proxy.heal()
        await far.until(lambda ear: len(ear.heard) == offered * len(FRAME))

    tapped(main, "memory", held)


def test_paused_side_is_read_again_when_time_heals(tapped: Any) -> None:
    held = Fault(
        trigger=OnFrame(command="SEND", direction=Direction.TO_BROKER), action=Hold(), until=Until(after_ms=500)
    )

    async def main(tap: Any) -> None:
        near, far = await tap.connect()
        offered = 2 * MOST_WAITING_BYTES // len(FRAME)
        for _ in range(offered):
            near.transport.write(FRAME)
        await far.until(lambda ear: len(ear.heard) == offered * len(FRAME))

    tapped(main, "memory", held)
