"""The check of `routing.default-hash`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar._routing import Story

from assay_conformance.history.script import Script
from assay_conformance.model.event import Member
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


def test_keyed_message_behind_an_empty_one_in_a_batch_is_judged() -> None:
    """An empty payload does not say which message it is."""
    story = Story()
    story.goes(0, 1, "key1")
    story.send(1, size=0, key="key1")
    story.send(2, key="key1")
    known = Script().send_frame(2).members
    story.send_frame(1, 2, producer_id=1, members=(Member(size=0, digest=0), *known))
    assert story.judged(default_hash) == (["other-default", "other-default"], 2)
