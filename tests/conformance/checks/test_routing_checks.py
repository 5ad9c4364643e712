"""Routing checks, both ways, on histories of a few lines. Topic `t` has five partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from assay_conformance.checks.base import Check
from assay_conformance.checks.hashing import DeclaredDefaultHash, DefaultHash, JavaStringHash, Murmur3Hash
from assay_conformance.checks.routing import KEYS_THAT_SPREAD, KeysChoosePartition, RoundRobinTurns, SingleStays
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.case import Case, Step, Topic, Topology, Who

FIVE = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", partitions=5),)))
OTHER = 3
"""The handle of a second producer."""


class Story(Script):
    """A producer with a wire id for each partition; a second one has ids from 10 on."""

    def __init__(self, **config: Any) -> None:
        super().__init__()
        self._open(PRODUCER, config)

    def second(self, **config: Any) -> None:
        self._open(OTHER, config)

    def _open(self, handle: int, config: dict[str, Any]) -> None:
        opening = self.invoke("open_producer", handle, args={"topic": "t", "config": config})
        if handle == PRODUCER:
            self.connected()
        for partition in range(5):
            wire_id = self._wire_id(handle, partition)
            self.producer_ready(producer_id=wire_id, topic=f"t-partition-{partition}", name=f"n{wire_id}")
        self.complete(opening)

    def _wire_id(self, handle: int, partition: int) -> int:
        return partition if handle == PRODUCER else 10 + partition

    def goes(self, number: int, partition: int, key: str | None = None, handle: int = PRODUCER) -> None:
        """Message `number` is asked for, and leaves for a partition."""
        named: dict[str, Any] = {} if key is None else {"key": key}
        self.send(number, handle, **named)
        self.send_frame(number, producer_id=self._wire_id(handle, partition), handle=handle, sequence_id=number)

    def judged(self, check: type[Check], case: Case = FIVE) -> tuple[list[str], int]:
        said = trial(check, self.done(), case)
        return [finding.code for finding in said.findings], said.exercised


# --- keys ---


def _keyed(places: Iterable[tuple[str, int]]) -> Story:
    story = Story()
    for number, (key, partition) in enumerate(places):
        story.goes(number, partition, key)
    return story


def test_key_that_keeps_its_partition_is_accepted() -> None:
    assert _keyed([("a", 2), ("b", 4), ("a", 2)]).judged(KeysChoosePartition) == ([], 1)


def test_key_on_two_partitions_is_found() -> None:
    assert _keyed([("a", 2), ("a", 3)]).judged(KeysChoosePartition) == (["key-moved"], 1)


def test_producers_of_one_scheme_have_to_agree() -> None:
    story = Story(routing="round_robin", hashing_scheme="java_string")
    story.second(routing="single", hashing_scheme="java_string")
    story.goes(0, 2, "a")
    story.goes(0, 3, "a", OTHER)
    assert story.judged(KeysChoosePartition) == (["key-moved"], 1)


def test_producers_of_different_schemes_need_not_agree() -> None:
    story = Story(hashing_scheme="java_string")
    story.second(hashing_scheme="murmur3_32")
    story.goes(0, 2, "a")
    story.goes(0, 3, "a", OTHER)
    assert story.judged(KeysChoosePartition) == ([], 0)


def test_many_keys_that_all_share_a_partition_are_found() -> None:
    story = _keyed((f"key{number}", 2) for number in range(KEYS_THAT_SPREAD))
    assert story.judged(KeysChoosePartition) == (["keys-ignored"], 1)


def test_many_keys_that_spread_are_accepted() -> None:
    story = _keyed((f"key{number}", number % 2) for number in range(KEYS_THAT_SPREAD))
    assert story.judged(KeysChoosePartition) == ([], 1)


def test_topic_that_grows_is_not_judged() -> None:
    growing = msgspec.structs.replace(FIVE, steps=(Step(Who.BROKER, "grow", {"topic": "t", "partitions": 6}),))
    assert _keyed([("a", 2), ("a", 3)]).judged(KeysChoosePartition, growing) == ([], 0)


# --- hashes: expected partitions are those of published vectors ---


def _hashed(scheme: str, key: str, partition: int) -> Story:
    story = Story(hashing_scheme=scheme)
    story.goes(0, partition, key)
    return story


def test_java_string_hash_is_accepted() -> None:
    assert _hashed("java_string", "my-key", 1).judged(JavaStringHash) == ([], 1)


def test_java_string_hash_with_its_sign_bit_is_found() -> None:
    assert _hashed("java_string", "my-key", 4).judged(JavaStringHash) == (["wrong-partition"], 1)


def test_java_string_hash_of_bytes_is_found() -> None:
    assert _hashed("java_string", "é", 4).judged(JavaStringHash) == (["wrong-partition"], 1)


def test_murmur3_is_accepted() -> None:
    assert _hashed("murmur3_32", "key1", 1).judged(Murmur3Hash) == ([], 1)


def test_murmur3_with_its_sign_bit_is_found() -> None:
    assert _hashed("murmur3_32", "key1", 4).judged(Murmur3Hash) == (["wrong-partition"], 1)


def test_keys_of_another_scheme_are_not_judged() -> None:
    assert _hashed("boost", "key1", 4).judged(Murmur3Hash) == ([], 0)


def _default(partition: int, **config: Any) -> tuple[list[str], int]:
    story = Story(**config)
    story.goes(0, partition, "key1")
    return story.judged(DefaultHash)


def test_keys_of_an_unconfigured_producer_by_java_string_hash_are_accepted() -> None:
    assert _default(3) == ([], 1)


def test_keys_of_an_unconfigured_producer_by_another_hash_are_found() -> None:
    assert _default(1) == (["other-default"], 1)


def test_configured_producer_has_no_default() -> None:
    assert _default(1, hashing_scheme="murmur3_32") == ([], 0)


def _declared(scheme: str, *partitions: int) -> tuple[list[str], int]:
    """Key `a` of a producer, and of a second one, of a client that declares a scheme."""
    story = Story()
    story.second()
    for number, partition in enumerate(partitions):
        story.goes(number, partition, "a", handle=OTHER if number else PRODUCER)
    facts = msgspec.structs.replace(ANY_CLIENT, defaults={"hashing_scheme": scheme})
    said = trial(DeclaredDefaultHash, story.done(), FIVE, facts)
    return [finding.code for finding in said.findings], said.exercised


def test_default_is_the_scheme_that_is_declared() -> None:
    assert (_declared("java_string", 2), _declared("murmur3_32", 0)) == (([], 1), ([], 1))


def test_default_that_is_declared_otherwise_is_found() -> None:
    assert _declared("murmur3_32", 2) == (["not-as-declared"], 1)


def test_default_of_a_scheme_that_differs_by_build_is_the_same_for_two_producers() -> None:
    assert (_declared("boost", 3, 3), _declared("boost", 3, 4)) == (([], 1), (["defaults-differ"], 1))


# --- without keys ---


def _unkeyed(partitions: Iterable[int], **config: Any) -> Story:
    story = Story(**config)
    for number, partition in enumerate(partitions):
        story.goes(number, partition)
    return story


def test_single_partition_that_stays_is_accepted() -> None:
    assert _unkeyed((3, 3, 3), routing="single").judged(SingleStays) == ([], 2)


def test_single_partition_that_moves_is_found() -> None:
    assert _unkeyed((3, 3, 1), routing="single").judged(SingleStays) == (["moved"], 2)


def test_keys_do_not_move_a_single_partition() -> None:
    story = _unkeyed((3,), routing="single")
    story.goes(1, 0, "a")
    story.goes(2, 3)
    assert story.judged(SingleStays) == ([], 1)


TURNS: dict[str, Any] = {"routing": "round_robin", "batching": False}


def test_turns_are_accepted_from_any_start() -> None:
    assert _unkeyed((3, 4, 0, 1), **TURNS).judged(RoundRobinTurns) == ([], 3)


def test_partition_left_out_is_found() -> None:
    assert _unkeyed((3, 4, 1), **TURNS).judged(RoundRobinTurns) == (["out-of-turn"], 2)


def test_turns_of_batches_are_another_matter() -> None:
    assert _unkeyed((3, 3, 3), routing="round_robin", batching=True).judged(RoundRobinTurns) == ([], 0)


def test_message_with_a_key_takes_no_turn() -> None:
    story = _unkeyed((3,), **TURNS)
    story.goes(1, 0, "a")
    story.goes(2, 4)
    assert story.judged(RoundRobinTurns) == ([], 1)


def test_turn_behind_a_message_that_never_left_shows_nothing() -> None:
    story = _unkeyed((3,), **TURNS)
    story.send(1)
    story.goes(2, 0)
    assert story.judged(RoundRobinTurns) == ([], 0)
