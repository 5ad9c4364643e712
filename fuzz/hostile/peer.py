"""Servers that attacks bring along: an admin interface without manners, and a line to a broker that damages frames."""

from __future__ import annotations

import gzip
import json
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

HOST: Final = "127.0.0.1"
_PIECE: Final = 1 << 16
_BODY_BYTES: Final = 3 << 30
_SILENCE_S: Final = 0.1

Connection = Callable[[socket.socket], None]


class HostilePeer:
    """Listens on a port of its own, and does `serve` with every connection, in a thread of it."""

    def __init__(self, serve: Connection) -> None:
        self._serve = serve
        self._socket = socket.create_server((HOST, 0))
        self._open: set[socket.socket] = set()
        self.closed = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"{HOST}:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        self.closed.set()
        # A thread in accept() holds the socket open; this wakes it.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in tuple(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self.closed.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._open.add(connection)
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self._serve(connection)
        self._open.discard(connection)


# --- an admin interface -----------------------------------------------------------------------------------------------


def _head(*lines: str) -> bytes:
    return ("\r\n".join(("HTTP/1.1 200 OK", *lines)) + "\r\n\r\n").encode()


def _json(body: bytes) -> bytes:
    return _head("Content-Type: application/json", f"Content-Length: {len(body)}") + body


def _endless(connection: socket.socket) -> None:
    connection.sendall(_head("Content-Type: application/json", f"Content-Length: {_BODY_BYTES}") + b'["')
    for _ in range(_BODY_BYTES // _PIECE):
        connection.sendall(b"x" * _PIECE)


def _bomb(connection: socket.socket) -> None:
    """Send a gigabyte of zeros, packed into a megabyte."""
    body = gzip.compress(b"0" * (1 << 30), 1)
    connection.sendall(
        _head("Content-Type: application/json", "Content-Encoding: gzip", f"Content-Length: {len(body)}")
    )
    connection.sendall(body)


def _drip(connection: socket.socket) -> None:
    connection.sendall(_head("Content-Type: application/json", "Content-Length: 100000"))
    for _ in range(600):
        connection.sendall(b" ")
        time.sleep(_SILENCE_S)


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _silent(connection: socket.socket) -> None:
    while connection.recv(_PIECE):
        pass


def _headers(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    for number in range(200_000):
        connection.sendall(b"X-%d: y\r\n" % number)


def _said(data: bytes) -> Connection:
    return lambda connection: connection.sendall(data)


def _redirect(connection: socket.socket) -> None:
    host, port = connection.getsockname()
    goal = f"http://{host}:{port}/again"
    connection.sendall(f"HTTP/1.1 307 Again\r\nLocation: {goal}\r\nContent-Length: 0\r\n\r\n".encode())


BODIES: Final[dict[str, bytes]] = {
    "null": b"null",
    "a number": b"3",
    "text": b'"ok"',
    "an object": b"{}",
    "a list of odd things": b'[null, 3, {"a": []}, "x/y/z/w"]',
    "nested 100,000 deep": b"[" * 100_000,
    "an integer of 5,000 digits": b"9" * 5_000,
    "invalid UTF-8": b'["\xff\xfe"]',
    "a lone surrogate": b'["\\ud800"]',
    "terminal escapes": b'["\\u001b[2J"]',
    "nothing": b"",
    "a list of 200,000": json.dumps(["public/default"] * 200_000).encode(),
}

ADMINS: Final[dict[str, Connection]] = {
    **{f"answers {name}": _said(_json(body)) for name, body in BODIES.items()},
    "an endless body": _endless,
    "a gzip bomb": _bomb,
    "a dripping body": _drip,
    "RST": _reset,
    "silence": _silent,
    "endless headers": _headers,
    "redirects to itself": _redirect,
    "HTML": _said(_head("Content-Type: text/html", "Content-Length: 15") + b"<html>no</html>"),
    "garbage": _said(random.Random(7).randbytes(4_000)),
    "a wrong length": _said(_head("Content-Length: -5")),
    "two lengths": _said(_head("Content-Length: 2", "Content-Length: 3") + b"[]"),
    "chunks without end": _said(_head("Transfer-Encoding: chunked") + b"ffffffffff\r\n"),
    "500 with escapes": _said(b"HTTP/1.1 500 \x1b[2J\r\nContent-Length: 4\r\n\r\n\x1b[1m"),
    "401": _said(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"),
    "a status of its own": _said(b"HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\n{}"),
    "another protocol": _said(b"SSH-2.0-OpenSSH_9.2\r\n"),
}
"""What the admin interface does with every request. Each connection gets one answer, and is closed."""


def admin(name: str) -> HostilePeer:
    def serve(connection: socket.socket) -> None:
        connection.settimeout(30.0)
        if name != "RST":
            connection.recv(_PIECE)
        ADMINS[name](connection)

    return HostilePeer(serve)


# --- a line to a broker -----------------------------------------------------------------------------------------------


def damaging(broker: tuple[str, int], frame: int, damage: Callable[[bytes], bytes]) -> HostilePeer:
    """Return a proxy that damages the `frame`-th frame of each connection from a broker to the client."""

    def serve(connection: socket.socket) -> None:
        with socket.create_connection(broker) as upstream:
            threading.Thread(target=_pump, args=(connection, upstream), daemon=True).start()
            for number, data in enumerate(_frames(upstream)):
                connection.sendall(damage(data) if number == frame else data)

    return HostilePeer(serve)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_PIECE):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def _frames(upstream: socket.socket) -> Iterator[bytes]:
    rest = b""
    while data := upstream.recv(_PIECE):
        rest += data
        while len(rest) >= 4 and len(rest) >= (size := 4 + int.from_bytes(rest[:4], "big")):
            yield rest[:size]
            rest = rest[size:]
