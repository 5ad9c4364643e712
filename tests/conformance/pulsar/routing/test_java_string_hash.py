"""The check of `routing.java-string-hash`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.routing._histories import hashed

from assay_conformance.pulsar.checks.routing.java_string_hash import java_string_hash


def test_java_string_hash_is_accepted() -> None:
    assert hashed("java_string", "my-key", 1).judged(java_string_hash) == ([], 1)


def test_java_string_hash_with_its_sign_bit_is_found() -> None:
    assert hashed("java_string", "my-key", 4).judged(java_string_hash) == (["wrong-partition"], 1)


def test_java_string_hash_of_bytes_is_found() -> None:
    assert hashed("java_string", "é", 4).judged(java_string_hash) == (["wrong-partition"], 1)
