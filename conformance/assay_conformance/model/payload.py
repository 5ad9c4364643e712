"""Payloads every agent generates alike, and the digest every witness computes alike.

A payload of `size` bytes is a 16-byte identity (case u32, handle u32, number u64, big-endian) followed by the blocks
SHA-256(seed u64 || counter u64), counter from 0, cut to size. One smaller than 16 bytes holds the blocks alone and is
identified by producer name and sequence id. The digest is CRC-32 (zlib) of the application's uncompressed bytes.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from functools import lru_cache
from typing import Final

from assay_conformance.model.event import Identity

IDENTITY_BYTES = 16
_IDENTITY = struct.Struct(">IIQ")
_BLOCK = struct.Struct(">QQ")

_KEPT_BYTES: Final = 1 << 16
"""Payloads up to here are kept for the next message of their number: Cases number theirs alike."""


def generate(identity: Identity, size: int, seed: int) -> bytes:
    """Return the payload of `size` bytes for this message."""
    if size < IDENTITY_BYTES:
        return _blocks(seed, size)
    return pack(identity) + _blocks(seed, size - IDENTITY_BYTES)


def pack(identity: Identity) -> bytes:
    """Return the first 16 bytes of a payload."""
    return _IDENTITY.pack(identity.case, identity.handle, identity.number)


def is_identified(size: int | None) -> bool:
    """Return whether a payload of so many bytes says whose it is."""
    return (size or 0) >= IDENTITY_BYTES


def identify(data: bytes | memoryview) -> Identity | None:
    """Return the identity in front of a payload; None when it is too small to hold one."""
    if len(data) < IDENTITY_BYTES:
        return None
    return Identity(*_IDENTITY.unpack_from(data))


def digest(data: bytes | memoryview) -> int:
    return zlib.crc32(data)


def _blocks(seed: int, size: int) -> bytes:
    return _kept(seed, size) if size <= _KEPT_BYTES else _made(seed, size)


def _made(seed: int, size: int) -> bytes:
    count = -(-size // 32)
    return b"".join(hashlib.sha256(_BLOCK.pack(seed, counter)).digest() for counter in range(count))[:size]


_kept = lru_cache(maxsize=256)(_made)
