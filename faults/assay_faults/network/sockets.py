"""TCP: listeners on loopback, or on an address that was asked for."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import socket
import ssl
import struct
import termios
from typing import cast

from assay_conformance.model.errors import HarnessError, UsageError
from assay_conformance.wire.service_urls import TLS_SCHEME, address
from assay_faults.awake import timeout_awake
from assay_faults.bounds import OUTPUT_DEADLINE_S, PROOF_DEADLINE_S
from assay_faults.network.protocols import SCHEME, Factory, Listener

_LOOPBACK = "127.0.0.1"
_FROM_ANYWHERE = {"0.0.0.0": "localhost", "::": "localhost"}
"""Addresses that only a listener can have, and what to connect to instead."""
_OUTPUT_POLL_S = 0.001


class _SocketListener:
    def __init__(self, server: asyncio.Server, name: str | None, scheme: str) -> None:
        self._server = server
        host, port = server.sockets[0].getsockname()[:2]
        host = name or _FROM_ANYWHERE.get(host, host)
        self.url = f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    def close(self) -> None:
        self._server.close()


class SocketNetwork:
    """TCP, bound to loopback; the port is the kernel's choice unless one is given, and then the first listener has it:
    clients get the ports of further brokers by lookups. `name` is what these call this machine, where that is not the
    address."""

    def __init__(self, host: str = _LOOPBACK, port: int = 0, name: str | None = None) -> None:
        self._host = host
        self._port = port
        self._name = name

    async def listen(self, factory: Factory, tls: ssl.SSLContext | None = None) -> Listener:
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(factory, self._host, self._port, backlog=512, ssl=tls)
        except OSError as error:
            hint = "another process listens there" if error.errno == errno.EADDRINUSE else "choose another address"
            # An address that was asked for is the caller's to change.
            kind = HarnessError if (self._host, self._port) == (_LOOPBACK, 0) else UsageError
            # The loop's own text repeats the address.
            resolving = isinstance(error, socket.gaierror) or not error.errno
            why = error.strerror if resolving else os.strerror(error.errno or 0)
            raise kind(f"cannot listen on {self._host}:{self._port}: {why}; {hint}") from error
        self._port = 0
        return _SocketListener(server, self._name, SCHEME if tls is None else TLS_SCHEME)

    async def connect(self, factory: Factory, url: str, tls: ssl.SSLContext | None = None) -> asyncio.Transport:
        try:
            where = address(url)
        except ValueError as error:
            raise HarnessError(f"cannot connect to {error}") from None
        if not where.tls:
            tls = None
        elif tls is None:
            raise HarnessError(f"cannot connect to {url}: it speaks TLS, and nothing says whom to trust")
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(factory, where.host, where.port, ssl=tls)
        return transport

    def reset(self, transport: asyncio.Transport, *, abrupt: bool) -> None:
        sock: socket.socket | None = transport.get_extra_info("socket")
        if sock is None or transport.is_closing():
            transport.abort()
            return
        transport.pause_reading()
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + (0.0 if abrupt else OUTPUT_DEADLINE_S)

        def reset_when_sent() -> None:
            if transport.is_closing():
                return
            if loop.time() < deadline_s and _unsent_bytes(transport, sock):
                loop.call_later(_OUTPUT_POLL_S, reset_when_sent)
                return
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()

        reset_when_sent()

    async def prove(self) -> None:
        listener = await self.listen(_Greeter)
        heard: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            async with timeout_awake(PROOF_DEADLINE_S):
                transport = await self.connect(lambda: _Listening(heard), listener.url)
                try:
                    await heard
                finally:
                    transport.abort()
        except OSError as error:  # TimeoutError is one
            why = error.strerror or f"nothing came within {PROOF_DEADLINE_S:g} s"
            raise HarnessError(
                f"the bench cannot connect to itself on {self._host}: {why}; is the interface up, are descriptors left?"
            ) from error
        finally:
            listener.close()


class _Greeter(asyncio.Protocol):
    """Sends one byte to each client that connects."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        far = cast(asyncio.Transport, transport)
        far.write(b"!")
        far.close()


class _Listening(asyncio.Protocol):
    """`heard` is set by the first byte."""

    def __init__(self, heard: asyncio.Future[None]) -> None:
        self._heard = heard

    def data_received(self, data: bytes) -> None:
        del data
        if not self._heard.done():
            self._heard.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._heard.done():
            self._heard.set_exception(exc or ConnectionResetError(errno.ECONNRESET, "the connection was closed"))


def _unsent_bytes(transport: asyncio.Transport, sock: socket.socket) -> int:
    """Return how many bytes are still in the transport, or else unacknowledged in the kernel's send queue."""
    waiting = transport.get_write_buffer_size()
    if waiting:
        return waiting
    try:
        queued = fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, b"\0" * 4)
    except OSError:
        return 0
    return int.from_bytes(queued, "little")
