"""Hash vectors, and where clients part ways: the same key on another partition.

The Java columns are what hashes.py promises. The others are the definitions of other clients: Go hashes UTF-8 bytes and
keeps the sign bit; C++ on x86 hashes signed bytes; Rust and .NET keep the sign bit of Murmur3. They agree with Java
where the number of partitions is a power of two, hence 3, 5 and 10.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import pytest

from assay_conformance.wire import java_string_hash, murmur3_32, murmur3_32_raw, sign_safe_mod, sticky_key_hash

PARTITIONS: Final = (3, 5, 10)


class Vector(NamedTuple):
    key: str
    java: int
    java_of_cpp: int
    murmur_raw: int
    murmur: int
    java_partitions: tuple[int, ...]
    java_partitions_of_go: tuple[int, ...]
    murmur_partitions: tuple[int, ...]
    murmur_raw_partitions: tuple[int, ...]
    """Of 5 and 10."""


VECTORS: Final = [
    Vector("", 0, 0, 0, 0, (0, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0)),
    Vector("a", 97, 97, 1009084850, 1009084850, (1, 2, 7), (1, 2, 7), (2, 0, 0), (0, 0)),
    Vector("k1", 3366, 3366, 4257636394, 2110152746, (0, 1, 6), (0, 1, 6), (2, 1, 6), (4, 4)),
    Vector("k2", 3367, 3367, 3627450312, 1479966664, (1, 2, 7), (1, 2, 7), (1, 4, 4), (2, 2)),
    Vector("key1", 3288498, 3288498, 2610364709, 462881061, (0, 3, 8), (0, 3, 8), (0, 1, 1), (4, 9)),
    Vector("key2", 3288499, 3288499, 1936800180, 1936800180, (1, 4, 9), (1, 4, 9), (0, 0, 0), (0, 0)),
    Vector("key01", 101943456, 101943456, 2187180580, 39696932, (0, 1, 6), (0, 1, 6), (2, 2, 2), (0, 0)),
    Vector("key02", 101943457, 101943457, 751761803, 751761803, (1, 2, 7), (1, 2, 7), (2, 3, 3), (3, 3)),
    Vector("hello", 99162322, 99162322, 613153351, 613153351, (1, 2, 2), (1, 2, 2), (1, 1, 1), (1, 1)),
    Vector("test", 3556498, 3556498, 3127628307, 980144659, (1, 3, 8), (1, 3, 8), (1, 4, 9), (2, 7)),
    Vector("my-key", 1086286526, 1086286526, 1844492593, 1844492593, (2, 1, 6), (1, 4, 4), (1, 3, 3), (3, 3)),
    Vector("keykeykey2", 42978643, 42978643, 304171170, 304171170, (1, 3, 3), (0, 1, 1), (0, 0, 0), (0, 0)),
    Vector("keykeykeykeykey1", 434058482, 434058482, 2166834030, 19350382, (2, 2, 2), (2, 2, 2), (1, 2, 2), (0, 0)),
    Vector("order-12345", 478832884, 478832884, 1785094598, 1785094598, (1, 4, 4), (1, 4, 4), (2, 3, 8), (3, 8)),
    Vector("206470852", 1946177376, 1946177376, 1056118357, 1056118357, (0, 1, 6), (2, 4, 4), (1, 2, 7), (2, 7)),
    Vector("键", 38190, 2147458115, 2555073714, 407590066, (0, 0, 0), (0, 0, 5), (1, 1, 6), (4, 4)),
    Vector("é", 233, 2147481670, 269551495, 269551495, (2, 3, 3), (1, 4, 4), (1, 0, 5), (0, 5)),
    Vector("€uro", 249288006, 1169859110, 819477825, 819477825, (0, 1, 6), (2, 4, 4), (0, 0, 5), (0, 5)),
    Vector("😀", 1772899, 2146910423, 3199479546, 1051995898, (1, 4, 9), (1, 4, 9), (1, 3, 8), (1, 6)),
]
every_vector = pytest.mark.parametrize("vector", VECTORS, ids=[vector.key or "empty" for vector in VECTORS])


def java_hash_over_bytes(units: list[int]) -> int:
    value = 0
    for unit in units:
        value = (31 * value + unit) % 2**32
    return value


@every_vector
def test_java_string_hash_follows_vectors(vector: Vector) -> None:
    assert java_string_hash(vector.key) == vector.java
    assert tuple(sign_safe_mod(vector.java, count) for count in PARTITIONS) == vector.java_partitions


@every_vector
def test_murmur3_follows_vectors(vector: Vector) -> None:
    data = vector.key.encode()
    assert (murmur3_32_raw(data), murmur3_32(data)) == (vector.murmur_raw, vector.murmur)
    assert tuple(sign_safe_mod(vector.murmur, count) for count in PARTITIONS) == vector.murmur_partitions


@every_vector
def test_unmasked_murmur3_chooses_as_rust_does(vector: Vector) -> None:
    raw = murmur3_32_raw(vector.key.encode())
    assert (sign_safe_mod(raw, 5), sign_safe_mod(raw, 10)) == vector.murmur_raw_partitions


@every_vector
def test_java_hash_of_go_follows_its_definition(vector: Vector) -> None:
    value = java_hash_over_bytes(list(vector.key.encode()))
    assert tuple(value % count for count in PARTITIONS) == vector.java_partitions_of_go


@every_vector
def test_java_hash_of_cpp_follows_its_definition(vector: Vector) -> None:
    signed = [byte - 256 if byte > 127 else byte for byte in vector.key.encode()]
    assert java_hash_over_bytes(signed) & 0x7FFFFFFF == vector.java_of_cpp


def test_masking_is_invisible_to_powers_of_two() -> None:
    for vector in VECTORS:
        assert all(vector.murmur % count == vector.murmur_raw % count for count in (2, 4, 8, 16))


def test_java_string_hash_takes_lone_surrogates() -> None:
    assert java_string_hash("\ud83d") == 0xD83D


@pytest.mark.parametrize(("key", "place"), [(b"key1", 293), (b"key2", 14772), (b"NONE_KEY", 48803)])
def test_sticky_key_hash_follows_vectors(key: bytes, place: int) -> None:
    assert sticky_key_hash(key) == place


@pytest.mark.parametrize(("value", "remainder"), [(7, 1), (-7, 2), (-1, 2), (0, 0), (-3, 0)])
def test_sign_safe_mod_is_never_negative(value: int, remainder: int) -> None:
    assert sign_safe_mod(value, 3) == remainder
