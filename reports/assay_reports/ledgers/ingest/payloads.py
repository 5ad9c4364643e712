"""Whether payloads are what their identity says, without a payload in sight: by CRC alone, vectorised.

A CRC is linear: that of a payload is the CRC of the one with number 0, xor what each bit of the number adds, and what a
bit adds depends on the size only. So one table a size and one CRC a stream and size judge any number of rows.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any

import numpy as np

from assay_conformance.ledger.declarations import StreamDeclared
from assay_conformance.ledger.tables import Integrity
from assay_conformance.model.event import Identity
from assay_conformance.model.payload import IDENTITY_BYTES, generate

_NUMBER_AT = 8
_KEPT = 4096


def checks(stream: StreamDeclared | None, seqs: Any, sizes: Any, crcs: Any) -> Any:
    """Return the column `delivery.ok` of deliveries of one stream, as an array of int8.

    It is UNKNOWN for payloads that the stream does not declare, or that are too short for an identity.
    """
    found: Any = np.full(len(seqs), Integrity.UNKNOWN, np.int8)
    if stream is None or stream.seed is None:
        return found
    for size in np.unique(sizes).tolist():
        if size < IDENTITY_BYTES:
            continue
        at = sizes == size
        expected = _of_number_0(stream.case, stream.stream, size, stream.seed) ^ _of_numbers(seqs[at], size)
        found[at] = np.where(expected == crcs[at], Integrity.GOOD, Integrity.BAD)
    return found


def _of_numbers(seqs: Any, size: int) -> Any:
    table = _table(size)
    numbers = seqs.astype(np.uint64)
    found: Any = np.zeros(len(seqs), np.uint32)
    for byte in range(8):
        found ^= table[byte][((numbers >> np.uint64(8 * (7 - byte))) & np.uint64(0xFF)).astype(np.intp)]
    return found


@lru_cache(_KEPT)
def _of_number_0(case: int, stream: int, size: int, seed: int) -> Any:
    return np.uint32(zlib.crc32(generate(Identity(case, stream, 0), size, seed)))


@lru_cache(_KEPT)
def _table(size: int) -> Any:
    """[byte of the number][its value] -> what it adds to the CRC."""
    zero = bytes(size)
    nothing = zlib.crc32(zero)
    values = np.arange(256)
    table: Any = np.zeros((8, 256), np.uint32)
    for byte in range(8):
        for bit in range(8):
            data = bytearray(zero)
            data[_NUMBER_AT + byte] = 1 << bit
            table[byte] ^= np.where(values >> bit & 1, np.uint32(zlib.crc32(data) ^ nothing), np.uint32(0))
    return table
