"""Pipes in memory, between protocols of one event loop."""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections import deque
from collections.abc import Callable
from typing import Any

from assay_conformance.wire.service_urls import TLS_SCHEME
from assay_faults.network.protocols import SCHEME, Factory, Listener


class _MemoryListener:
    def __init__(self, network: MemoryNetwork, url: str) -> None:
        self._network = network
        self.url = url

    def close(self) -> None:
        self._network.listeners.pop(self.url, None)


class MemoryNetwork:
    """Connections between protocols of one event loop. `latency_s` is asked how long what begins to arrive is on its
    way; without it, it is there in the next turn of the loop."""

    def __init__(self, latency_s: Callable[[], float] | None = None) -> None:
        self._latency_s = latency_s
        self.listeners: dict[str, Factory] = {}
        self._ports = 1

    async def listen(self, factory: Factory, tls: ssl.SSLContext | None = None) -> Listener:
        """Listen. With `tls` the scheme of the address says so, but nothing is encrypted."""
        url = f"{SCHEME if tls is None else TLS_SCHEME}://memory:{self._ports}"
        self._ports += 1
        self.listeners[url] = factory
        return _MemoryListener(self, url)

    async def connect(self, factory: Factory, url: str, tls: ssl.SSLContext | None = None) -> asyncio.Transport:
        del tls
        accept = self.listeners.get(url)
        if accept is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"nothing listens on {url}")
        near, far = _MemoryTransport(factory(), self._latency_s), _MemoryTransport(accept(), self._latency_s)
        near.join(far)
        far.join(near)
        far.start()
        near.start()
        return near

    def reset(self, transport: asyncio.Transport, *, abrupt: bool) -> None:
        assert isinstance(transport, _MemoryTransport)
        transport.reset(abrupt=abrupt)

    async def prove(self) -> None:
        """Do nothing: a network in memory cannot be down."""


class _End:
    """What may stand in a pipe after the bytes."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error


class _MemoryTransport(asyncio.Transport):
    """One end of a connection: what the other end wrote waits in `_inbox` until this end reads."""

    def __init__(self, protocol: asyncio.BaseProtocol, latency_s: Callable[[], float] | None) -> None:
        super().__init__()
        self._latency_s = latency_s
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._peer: _MemoryTransport | None = None
        self._inbox: deque[bytes | _End] = deque()
        self._reading = True
        self._pumping = False
        self._closing = False
        self._eof_written = False
        self._lost = False

    def join(self, peer: _MemoryTransport) -> None:
        self._peer = peer

    def start(self) -> None:
        self._protocol.connection_made(self)

    # --- asyncio.Transport ---

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if not self._closing and not self._eof_written and self._peer is not None and data:
            self._peer._put(bytes(data))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if not self._eof_written and not self._closing and self._peer is not None:
            self._eof_written = True
            self._peer._put(_End(None))

    def close(self) -> None:
        if self._closing:
            return
        self.write_eof()
        self._closing = True
        self._loop.call_soon(self._lose, None)

    def abort(self) -> None:
        self.reset(abrupt=True)

    def reset(self, *, abrupt: bool) -> None:
        if self._closing:
            return
        self._closing = True
        if self._peer is not None:
            if abrupt:
                self._peer._inbox.clear()
            self._peer._put(_End(ConnectionResetError(errno.ECONNRESET, "connection reset by peer")))
        self._loop.call_soon(self._lose, None)

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._wake()

    def is_reading(self) -> bool:
        return self._reading and not self._closing

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: what is written reaches the other end at once."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        del name
        return default

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    # --- the pipe ---

    def _put(self, item: bytes | _End) -> None:
        self._inbox.append(item)
        self._wake()

    def _wake(self) -> None:
        if self._inbox and self._reading and not self._pumping:
            self._pumping = True
            if self._latency_s is None:
                self._loop.call_soon(self._pump)
            else:
                self._loop.call_later(self._latency_s(), self._pump)

    def _pump(self) -> None:
        self._pumping = False
        while self._inbox and self._reading and not self._lost:
            item = self._inbox.popleft()
            if isinstance(item, _End):
                self._ended(item.error)
            elif not self._closing:
                assert isinstance(self._protocol, asyncio.Protocol)
                self._protocol.data_received(item)

    def _ended(self, error: Exception | None) -> None:
        """End the reading side: the other end writes no more.

        After a FIN the protocol may go on writing, if it says so.
        """
        assert isinstance(self._protocol, asyncio.Protocol)
        if error is None and not self._closing:
            if self._protocol.eof_received():
                return
            self.write_eof()
        self._closing = True
        self._lose(error)

    def _lose(self, error: Exception | None) -> None:
        if not self._lost:
            self._lost = True
            self._protocol.connection_lost(error)
