"""Doors of servers: bytes for a light Pulsar that serves on, through its binary port and its admin interface.

One broker takes many attacks, one after the other. After each it has to be alive, small, and as quick as before for a
well-behaved client.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Final

from fuzz.hostile.attack import MEMORY_KIB, Breach, Rule, Tried
from fuzz.hostile.target import assay
from fuzz.wire import load_corpus, make_input

HEALTHY_S: Final = 5.0
"""Within which a well-behaved client is answered, on a busy machine."""
_READ_S: Final = 0.5


def _frame(command: bytes) -> bytes:
    return (len(command) + 4).to_bytes(4, "big") + len(command).to_bytes(4, "big") + command


_CONNECT: Final = _frame(b"\x08\x02\x12\x09\x0a\x05assay\x20\x15")
"""CONNECT with a client version and protocol version 21, as bytes: what is attacked must not write its own question."""
_PING: Final = _frame(b"\x08\x12\x92\x01\x00")
_CONNECTED_TYPE: Final = b"\x08\x03"


class LightPulsar:
    """`assay broker` of the environment under attack."""

    def __init__(self, python: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._errors = (folder / "broker.err").open("wb")
        self.process = subprocess.Popen(
            assay(python, "broker", "--port", "0", "--http-port", "0", "--json"),
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=folder,
            text=True,
        )
        assert self.process.stdout is not None
        told = json.loads(self.process.stdout.readline())
        self.urls: tuple[str, str] = (told["service_url"], told["admin_url"])

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._errors.close()

    def connect(self, *, http: bool) -> socket.socket:
        host, port = self.urls[http].split("//")[1].rstrip("/").rsplit(":", 1)
        return socket.create_connection((host, int(port)), HEALTHY_S)

    def health(self) -> Iterator[Breach]:
        """Yield what a well-behaved client, and the machine, have to complain of."""
        if (code := self.process.poll()) is not None:
            yield Breach(Rule.ALIVE, f"it has ended with {code}")
            return
        for http, question, expected in ((False, _CONNECT, _CONNECTED_TYPE), (True, _GET, b"HTTP/1.1 200")):
            began = time.monotonic()
            answer = b""
            with suppress(OSError), self.connect(http=http) as line:
                line.sendall(question)
                answer = line.recv(4_096)
            if expected not in answer:
                took_s = time.monotonic() - began
                yield Breach(Rule.ALIVE, f"{'HTTP' if http else 'binary'}: {answer[:60]!r} after {took_s:.1f} s")
        if (peak_kib := self._peak_kib()) > MEMORY_KIB:
            yield Breach(Rule.MEMORY, f"{peak_kib >> 10} MiB")

    def _peak_kib(self) -> int:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


_GET: Final = b"GET /admin/v2/clusters HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

Bytes = Callable[[LightPulsar, Random], str]
"""Does one attack, and says of which kind it is."""


# --- frames -----------------------------------------------------------------------------------------------------------


_CORPUS = load_corpus()


def _damaged_frames(broker: LightPulsar, rng: Random) -> str:
    data = make_input(rng, _CORPUS)
    with broker.connect(http=False) as line:
        if rng.random() < 0.8:
            line.sendall(_CONNECT)
        _talk(line, data)
    return "damaged frames"


def _half_frames(broker: LightPulsar, rng: Random) -> str:
    """Open many connections, each with most of a frame of the largest size."""
    with ExitStack() as stack:
        for _ in range(rng.choice((10, 200))):
            line = stack.enter_context(broker.connect(http=False))
            with suppress(OSError):
                line.sendall(_CONNECT + (5 << 20).to_bytes(4, "big") + bytes(4))
                line.setblocking(False)
                for _piece in range(64):
                    line.send(bytes(1 << 16))
    return "halves of frames of 5 MB"


def _deaf(broker: LightPulsar, rng: Random) -> str:
    """Send thousands of requests without reading the answers."""
    with broker.connect(http=False) as line:
        line.sendall(_CONNECT)
        line.settimeout(_READ_S)
        with suppress(OSError):
            for _ in range(rng.choice((100, 2_000))):
                line.sendall(_PING * 50)
    return "answers that are never read"


def _odd_bytes(broker: LightPulsar, rng: Random) -> str:
    kind, data = rng.choice(
        [
            ("HTTP", _GET),
            ("TLS", bytes.fromhex("16030100c8010000c40303") + rng.randbytes(190)),
            ("noise", rng.randbytes(rng.choice((3, 500, 70_000)))),
            ("a size of 4 GiB", b"\xff\xff\xff\xff" + bytes(100)),
            ("CONNECT twice", _CONNECT * 2),
            ("CONNECT 500 times", _CONNECT * 500),
            ("bytes one at a time", _CONNECT),
        ]
    )
    with broker.connect(http=False) as line:
        if kind.startswith("bytes"):
            for place in range(len(data)):
                line.sendall(data[place : place + 1])
        _talk(line, data)
    return kind


def _talk(line: socket.socket, data: bytes) -> None:
    line.settimeout(_READ_S)
    with suppress(OSError):
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)
        while line.recv(1 << 16):
            pass


# --- HTTP -------------------------------------------------------------------------------------------------------------

_PATHS: Final = (
    "/admin/v2/clusters",
    "/admin/v2/namespaces/public/default",
    "/admin/v2/persistent/public/default/t",
    "/admin/v2/persistent/public/default/t/partitions",
    "/admin/v2/persistent/public/default/t/subscription/s",
    "/admin/v2/tenants/public",
    "/admin/v2/schemas/public/default/t/schema",
    "/lookup/v2/topic/persistent/public/default/t",
    "/assay/steps",
    "/assay/faults",
    "/assay/events",
    "/metrics",
)
_BODIES: Final[tuple[bytes, ...]] = (
    b"",
    b"{}",
    b"null",
    b"-1",
    b"9" * 5_000,
    b"[" * 50_000,
    b'{"a":' * 5_000,
    b'"\\ud800"',
    b'"\xff"',
    b'[{"trigger": {"when": "frame"}, "action": {"do": "drop"}}]',
    b'{"at": {"after": "step"}, "who": "broker", "verb": "unload", "arguments": {"topic": 3}}',
    b'{"schema": "", "type": "AVRO", "properties": null}',
)


def _requests(broker: LightPulsar, rng: Random) -> str:
    """Send a well-formed request for something odd."""
    method = rng.choice(("GET", "PUT", "POST", "DELETE", "HEAD", "PATCH", "OPTIONS"))
    path = rng.choice(_PATHS)
    if rng.random() < 0.3:
        path += rng.choice(("/../..", "%00", "/%2e%2e/x", "?a=" + "b" * 9_000, "//", "/\u00e9", "/" + "x" * 300, "%ff"))
    body = rng.choice(_BODIES)
    answer = _exchange(broker, _request(method, path, body))
    if answer and (not answer.startswith(b"HTTP/1.1 ") or answer[9:12] == b"500"):
        raise BadAnswerError(f"{method} {path[:60]} {body[:40]!r}: {answer[:120]!r}")
    return "an odd request"


def _request(method: str, path: str, body: bytes) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _framing(broker: LightPulsar, rng: Random) -> str:
    good = _request("PUT", "/admin/v2/persistent/public/default/t", b"{}")
    kind, data = rng.choice(
        [
            ("two lengths", good.replace(b"Content-Length: 2", b"Content-Length: 2\r\nContent-Length: 9")),
            ("a negative length", good.replace(b"Content-Length: 2", b"Content-Length: -2")),
            ("a huge length", good.replace(b"Content-Length: 2", b"Content-Length: 99999999999")),
            ("chunked", good.replace(b"Content-Length: 2", b"Transfer-Encoding: chunked")),
            ("endless headers", good[:-6] + b"".join(b"X%d: y\r\n" % number for number in range(20_000))),
            ("a header of 10 MB", good.replace(b"Host: x", b"Host: " + b"x" * (10 << 20))),
            ("bits flipped", bytes(byte ^ (rng.random() < 0.02) * 8 for byte in good)),
            ("noise", rng.randbytes(5_000)),
            ("line feeds alone", good.replace(b"\r\n", b"\n")),
            ("half a request", good[: rng.randrange(len(good))]),
            ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ]
    )
    _exchange(broker, data)
    return f"HTTP: {kind}"


def _pipelined(broker: LightPulsar, rng: Random) -> str:
    """Send HTTP requests in a row without reading the answers."""
    path = rng.choice(("/assay/events", "/metrics", "/admin/v2/clusters"))
    ask = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with broker.connect(http=True) as line:
        line.settimeout(_READ_S)
        with suppress(OSError):
            line.sendall(ask * rng.choice((50, 400, 2_000)))
        yielded = list(broker.health())
    if yielded:
        raise BadAnswerError("; ".join(f"{one.rule}: {one.detail}" for one in yielded))
    return "answers that are never read"


def _exchange(broker: LightPulsar, data: bytes) -> bytes:
    answer = b""
    with broker.connect(http=True) as line:
        line.settimeout(_READ_S)
        with suppress(OSError):
            line.sendall(data)
            while piece := line.recv(1 << 16):
                answer += piece
    return answer


class BadAnswerError(Exception):
    """What the server made of an attack is wrong in itself."""


TRAFFIC: Final[dict[str, tuple[tuple[Bytes, float], ...]]] = {
    "frames": ((_damaged_frames, 0.75), (_odd_bytes, 0.2), (_half_frames, 0.01), (_deaf, 0.04)),
    "http": ((_requests, 0.6), (_framing, 0.37), (_pipelined, 0.03)),
}


def attack(broker: LightPulsar, door: str, number: int, rng: Random) -> Tried:
    """Make one attack, and report how the broker is afterwards."""
    ways = TRAFFIC[door]
    way = rng.choices([one for one, _ in ways], [share for _, share in ways])[0]
    said: list[Breach] = []
    try:
        what = way(broker, rng)
    except (BadAnswerError, OSError) as error:
        what = way.__name__.strip("_").replace("_", " ")
        said.append(Breach(Rule.ALIVE, str(error)))
    said.extend(broker.health())
    return Tried(door, number, what, tuple(said))
