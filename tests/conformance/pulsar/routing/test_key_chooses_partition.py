"""The check of `routing.key-chooses-partition`, both ways, on histories of a few lines."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from tests.conformance.pulsar._routing import FIVE, OTHER, Story

from assay_conformance.model.case import Step, Who
from assay_conformance.pulsar.checks.routing.key_chooses_partition import KEYS_THAT_SPREAD, key_chooses_partition


def _keyed(places: Iterable[tuple[str, int]]) -> Story:
    story = Story()
    for number, (key, partition) in enumerate(places):
        story.goes(number, partition, key)
    return story


def test_key_that_keeps_its_partition_is_accepted() -> None:
    assert _keyed([("a", 2), ("b", 4), ("a", 2)]).judged(key_chooses_partition) == ([], 1)


def test_key_on_two_partitions_is_found() -> None:
    assert _keyed([("a", 2), ("a", 3)]).judged(key_chooses_partition) == (["key-moved"], 1)


def test_producers_of_one_scheme_have_to_agree() -> None:
    story = Story(routing="round_robin", hashing_scheme="java_string")
    story.second(routing="single", hashing_scheme="java_string")
    story.goes(0, 2, "a")
    story.goes(0, 3, "a", OTHER)
    assert story.judged(key_chooses_partition) == (["key-moved"], 1)


def test_producers_of_different_schemes_need_not_agree() -> None:
    story = Story(hashing_scheme="java_string")
    story.second(hashing_scheme="murmur3_32")
    story.goes(0, 2, "a")
    story.goes(0, 3, "a", OTHER)
    assert story.judged(key_chooses_partition) == ([], 0)


def test_many_keys_that_all_share_a_partition_are_found() -> None:
    story = _keyed((f"key{number}", 2) for number in range(KEYS_THAT_SPREAD))
    assert story.judged(key_chooses_partition) == (["keys-ignored"], 1)


def test_many_keys_that_spread_are_accepted() -> None:
    story = _keyed((f"key{number}", number % 2) for number in range(KEYS_THAT_SPREAD))
    assert story.judged(key_chooses_partition) == ([], 1)


def test_topic_that_grows_is_not_judged() -> None:
    growing = msgspec.structs.replace(FIVE, steps=(Step(Who.BROKER, "grow", {"topic": "t", "partitions": 6}),))
    assert _keyed([("a", 2), ("a", 3)]).judged(key_chooses_partition, growing) == ([], 0)
