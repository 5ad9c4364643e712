"""Wheels: archives whose members, sizes, names and metadata are wrong."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from fuzz.hostile import places, values
from fuzz.hostile.attack import REFUSALS, Drawn, Order, Sandbox
from fuzz.hostile.corpus import CASE, Corpus

_NAME: Final = "pulsar_client-9.9.9-py3-none-any.whl"
_METADATA: Final = "pulsar_client-9.9.9.dist-info/METADATA"
_HEADERS: Final = b"Metadata-Version: 2.1\nName: pulsar-client\nVersion: 9.9.9\n"
_LARGE_BYTES: Final = 800 << 20
NEVER_ACCEPTED: Final = REFUSALS | {1}
"""Exit codes: no wheel passes, whether or not it can be installed."""


def _wheel(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def _bomb(_: Random) -> bytes:
    """Return 800 MB of metadata in less than one."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(_METADATA, "w") as member:
        member.write(_HEADERS)
        piece = b"x" * (1 << 20)
        for _number in range(_LARGE_BYTES >> 20):
            member.write(piece)
    return stream.getvalue()


def _encrypted(_: Random) -> bytes:
    """Return a wheel with the flag of encryption in both headers."""
    data = bytearray(_wheel({_METADATA: _HEADERS}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    return bytes(data)


def _odd_compression(rng: Random) -> bytes:
    data = bytearray(_wheel({_METADATA: _HEADERS}))
    method = rng.choice((1, 9, 98, 99, 255))
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        data[data.index(signature) + offset] = method
    return bytes(data)


def _headers(rng: Random) -> bytes:
    lines = [
        b"Version: " + rng.choice((b"", b"three", b"1" * 5_000, b"1.0+\xff\xfe", b"../../x", b"9.9.9\n\x1b[2J")),
        b"Name: " + rng.choice((b"pulsar-client", b"other", b"", b"\x1b]0;owned\x07", b"x" * 100_000)),
    ]
    rng.shuffle(lines)
    return _wheel({_METADATA: b"Metadata-Version: 2.1\n" + b"\n".join(lines) + b"\n"})


def _members(rng: Random) -> bytes:
    names = ("../../neighbour/keep.txt", "/tmp/owned", "a\\..\\b", "x" * 300, "\x1b[2J", "")
    members = {_METADATA: _HEADERS, rng.choice(names) or "empty/": b"owned"}
    if rng.random() < 0.3:
        members = {name: data for name, data in members.items() if name != _METADATA}
    if rng.random() < 0.3:
        members["other-1.dist-info/METADATA"] = _HEADERS
    return _wheel(members)


def _damaged(rng: Random) -> bytes:
    return rng.choice(values.BYTES)(rng, _wheel({_METADATA: _HEADERS, "pulsar/__init__.py": b""}))[0]


def _many(rng: Random) -> bytes:
    return _wheel({f"pulsar/{number}.py": b"" for number in range(rng.choice((100, 30_000)))}, zipfile.ZIP_STORED)


_KINDS: Final[dict[str, tuple[Callable[[Random], bytes], float]]] = {
    "metadata of 800 MB": (_bomb, 0.01),
    "encrypted": (_encrypted, 0.08),
    "an odd compression": (_odd_compression, 0.1),
    "headers without sense": (_headers, 0.35),
    "names without sense": (_members, 0.2),
    "bytes damaged": (_damaged, 0.2),
    "very many members": (_many, 0.02),
    "no regular file": (lambda _: b"", 0.04),
}


def wheels(rng: Random, _: Corpus) -> Drawn:
    """Draw a wheel that no index would serve. None can be installed, so none may be accepted."""
    kind = rng.choices(list(_KINDS), [share for _, share in _KINDS.values()])[0]
    name = rng.choice((_NAME, _NAME, _NAME, "client.whl", "pulsar_client.whl", "x-1-py3-none-any.zip"))
    command = rng.choice((("agent", "check", "pulsar-python"), ("certify", "pulsar-python", "--select", CASE)))

    def lay(sandbox: Sandbox) -> Order:
        path: Path = sandbox.work / name
        path.write_bytes(_KINDS[kind][0](rng))
        if kind == "no regular file":
            places.put(rng, path)
        return Order((*command, "--wheel", name), codes=NEVER_ACCEPTED)

    return kind, lay
