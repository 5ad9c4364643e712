"""The check of `routing.default-hash`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar._routing import Story

from assay_conformance.pulsar.checks.routing.default_hash import default_hash


def _default(partition: int, **config: Any) -> tuple[list[str], int]:
    story = Story(**config)
    story.goes(0, partition, "key1")
    return story.judged(default_hash)


def test_keys_of_an_unconfigured_producer_by_java_string_hash_are_accepted() -> None:
    assert _default(3) == ([], 1)


def test_keys_of_an_unconfigured_producer_by_another_hash_are_found() -> None:
    assert _default(1) == (["other-default"], 1)


def test_configured_producer_has_no_default() -> None:
    assert _default(1, hashing_scheme="murmur3_32") == ([], 0)
