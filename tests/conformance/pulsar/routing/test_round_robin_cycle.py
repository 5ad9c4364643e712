"""The check of `routing.round-robin-cycle`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._hooks import Hooked
from tests.conformance.pulsar.routing._histories import unkeyed
from tests.conformance.pulsar.routing._hooks import with_one_message_waiting

from assay_conformance.pulsar.checks.routing.round_robin_cycle import round_robin_cycle


def test_producer_with_a_router_takes_no_turns() -> None:
    story = Hooked(router="by_number", routing="round_robin", batching=False)
    story.goes(0, 0)
    story.goes(1, 3)
    assert story.judged(round_robin_cycle) == ([], 0)


@pytest.mark.parametrize(("limit", "codes"), [(1, []), (2, ["out-of-turn"])], ids=["full", "with-room"])
def test_turn_of_a_full_partition_alone_may_be_passed_over(limit: int, codes: list[str]) -> None:
    story = with_one_message_waiting(limit)
    story.goes(5, 2)
    assert story.judged(round_robin_cycle)[0] == codes


TURNS: dict[str, Any] = {"routing": "round_robin", "batching": False}


def test_turns_are_accepted_from_any_start() -> None:
    assert unkeyed((3, 4, 0, 1), **TURNS).judged(round_robin_cycle) == ([], 3)


def test_partition_left_out_is_found() -> None:
    assert unkeyed((3, 4, 1), **TURNS).judged(round_robin_cycle) == (["out-of-turn"], 2)


def test_turns_of_batches_are_another_matter() -> None:
    assert unkeyed((3, 3, 3), routing="round_robin", batching=True).judged(round_robin_cycle) == ([], 0)


def test_message_with_a_key_takes_no_turn() -> None:
    story = unkeyed((3,), **TURNS)
    story.goes(1, 0, "a")
    story.goes(2, 4)
    assert story.judged(round_robin_cycle) == ([], 1)


def test_turn_behind_a_message_that_never_left_shows_nothing() -> None:
    story = unkeyed((3,), **TURNS)
    story.send(1)
    story.goes(2, 0)
    assert story.judged(round_robin_cycle) == ([], 0)


@pytest.mark.parametrize(("ordered", "then"), [(1, 4), (4, 5)])
def test_message_with_an_ordering_key_alone_may_go_by_its_hash_or_take_its_turn(ordered: int, then: int) -> None:
    story = unkeyed((3,), **TURNS)
    story.goes(1, ordered, ordering_key="o")
    story.goes(2, then)
    assert story.judged(round_robin_cycle) == ([], 0)
