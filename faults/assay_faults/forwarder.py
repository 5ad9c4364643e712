"""What stands behind a proxy or a network: carries connections on to a broker, counts them, and recognises our own.

A probe connection shows whether a fault acts. It takes the path of every client and ends here instead of at the broker,
so that both of its ends are ours and no broker sees it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from dataclasses import dataclass
from typing import Final

from assay_conformance.model.direction import Direction
from assay_faults.measure import Measure

_FIRST_MARK: Final = 0x80
_MARKS: Final = 0x80
"""A probe connection begins with such a byte. A Pulsar frame begins with its length, whose first byte is 0."""

_READ_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Stream:
    """One end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def abort(self) -> None:
        self.writer.transport.abort()


@dataclass(frozen=True, slots=True)
class Carried(Measure):
    """What clients had carried: connections that came and that ended, and bytes of either direction."""

    connections: int = 0
    ended: int = 0
    to_broker_bytes: int = 0
    to_client_bytes: int = 0


class Forwarder:
    """In front of a broker at `host`, `port`."""

    def __init__(self, host: str, port: int) -> None:
        self._upstream = (host, port)
        self._expected: dict[bytes, asyncio.Future[Stream]] = {}
        self._marks = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections = self._ended = 0
        self._bytes = dict.fromkeys(Direction, 0)

    @property
    def carried(self) -> Carried:
        return Carried(
            self._connections, self._ended, self._bytes[Direction.TO_BROKER], self._bytes[Direction.TO_CLIENT]
        )

    async def start(self, listener: socket.socket | None = None) -> str:
        """Listen on the given socket, or else on one of our own, and return the address."""
        if listener is None:
            listener = socket.create_server(("127.0.0.1", 0))
        self._server = await asyncio.start_server(self._accept, sock=listener)
        host, port = listener.getsockname()[:2]
        return f"{host}:{port}"

    def expect(self) -> tuple[bytes, asyncio.Future[Stream]]:
        """Return the byte that a connection of ours has to begin with, and a future of its end on this side."""
        mark = bytes((_FIRST_MARK + next(self._marks) % _MARKS,))
        self._expected[mark] = asyncio.get_running_loop().create_future()
        return mark, self._expected[mark]

    def close(self) -> None:
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        near = Stream(reader, writer)
        try:
            await self._meet_or_carry(near)
        except OSError:
            near.abort()
        except asyncio.CancelledError:
            # Of a closed tap. A task of a stream server that ends cancelled would be reported as a failure.
            near.abort()

    async def _meet_or_carry(self, near: Stream) -> None:
        first = await near.reader.read(1)
        expected = self._expected.pop(first, None)
        if expected is not None and not expected.done():
            expected.set_result(near)
        elif first and first[0] < _FIRST_MARK:
            await self._carry(first, near)
        else:
            near.abort()

    async def _carry(self, first: bytes, near: Stream) -> None:
        self._connections += 1
        try:
            far = Stream(*await asyncio.open_connection(*self._upstream))
            self._pass(first, far, Direction.TO_BROKER)
            await self._both_ways(near, far)
        finally:
            self._ended += 1

    async def _both_ways(self, near: Stream, far: Stream) -> None:
        """Pass bytes in both directions until either side ends.

        toxiproxy has no half-closed connections, so that none has to be kept.
        """
        ways = [
            asyncio.create_task(self._one_way(near, far, Direction.TO_BROKER)),
            asyncio.create_task(self._one_way(far, near, Direction.TO_CLIENT)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            near.writer.close()
            far.writer.close()

    async def _one_way(self, source: Stream, sink: Stream, direction: Direction) -> None:
        # A reset is an end like any other: toxiproxy would make a FIN of it.
        with contextlib.suppress(OSError):
            while data := await source.reader.read(_READ_BYTES):
                self._pass(data, sink, direction)
                await sink.writer.drain()

    def _pass(self, data: bytes, sink: Stream, direction: Direction) -> None:
        self._bytes[direction] += len(data)
        sink.writer.write(data)
