"""The check of `routing.murmur3-hash`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.routing._histories import hashed

from assay_conformance.pulsar.checks.routing.murmur3_hash import murmur3_hash


def test_murmur3_is_accepted() -> None:
    assert hashed("murmur3_32", "key1", 1).judged(murmur3_hash) == ([], 1)


def test_murmur3_with_its_sign_bit_is_found() -> None:
    assert hashed("murmur3_32", "key1", 4).judged(murmur3_hash) == (["wrong-partition"], 1)


def test_keys_of_another_scheme_are_not_judged() -> None:
    assert hashed("boost", "key1", 4).judged(murmur3_hash) == ([], 0)
