"""The check of `routing.single-partition-stays`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.routing._histories import unkeyed

from assay_conformance.pulsar.checks.routing.single_partition_stays import single_partition_stays


def test_single_partition_that_stays_is_accepted() -> None:
    assert unkeyed((3, 3, 3), routing="single").judged(single_partition_stays) == ([], 2)


def test_single_partition_that_moves_is_found() -> None:
    assert unkeyed((3, 3, 1), routing="single").judged(single_partition_stays) == (["moved"], 2)


def test_keys_do_not_move_a_single_partition() -> None:
    story = unkeyed((3,), routing="single")
    story.goes(1, 0, "a")
    story.goes(2, 3)
    assert story.judged(single_partition_stays) == ([], 1)


def test_message_with_an_ordering_key_alone_may_go_by_its_hash() -> None:
    story = unkeyed((3,), routing="single")
    story.goes(1, 1, ordering_key="o")
    story.goes(2, 3)
    assert story.judged(single_partition_stays) == ([], 1)
