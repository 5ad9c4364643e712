"""How a key chooses its partition, and on a Key_Shared subscription its consumer.

These are the Java client's definitions, the ones the documentation describes. Other clients differ where it shows: an
unmasked result chooses another partition unless their number is a power of two.
"""

from __future__ import annotations

import struct
from typing import Final

STICKY_RANGE: Final = 65536
_MASK_32: Final = 0xFFFFFFFF
_POSITIVE: Final = 0x7FFFFFFF
_BLOCK: Final = struct.Struct("<I")


def java_string_hash(key: str) -> int:
    """Return JavaStringHash: String.hashCode over UTF-16 code units, without its sign bit."""
    units = key.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & _MASK_32
    return value & _POSITIVE


def murmur3_32(data: bytes) -> int:
    """Return Murmur3_32Hash: the hash without its sign bit."""
    return murmur3_32_raw(data) & _POSITIVE


def murmur3_32_raw(data: bytes) -> int:
    """Return MurmurHash3 x86_32 with seed 0, all 32 bits."""
    value = 0
    whole = len(data) & ~3
    for (block,) in _BLOCK.iter_unpack(data[:whole]):
        value ^= _murmur3_mix(block)
        value = ((value << 13 | value >> 19) * 5 + 0xE6546B64) & _MASK_32
    value ^= _murmur3_mix(int.from_bytes(data[whole:], "little"))
    value ^= len(data)
    value = ((value ^ value >> 16) * 0x85EBCA6B) & _MASK_32
    value = ((value ^ value >> 13) * 0xC2B2AE35) & _MASK_32
    return value ^ value >> 16


def sign_safe_mod(value: int, divisor: int) -> int:
    """Return the remainder from 0 to divisor - 1, for a negative value too, as Python's own remainder is."""
    return value % divisor


def sticky_key_hash(key: bytes) -> int:
    """Return the place of a key on the ring of a Key_Shared subscription, from 0 to 65535."""
    return murmur3_32(key) % STICKY_RANGE


def _murmur3_mix(block: int) -> int:
    block = (block * 0xCC9E2D51) & _MASK_32
    return ((block << 15 | block >> 17) * 0x1B873593) & _MASK_32
