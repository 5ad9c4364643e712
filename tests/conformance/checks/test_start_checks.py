"""Where producers begin, both ways, on histories of a few lines. Topic `t` has five partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.conformance.checks.test_routing_checks import FIVE

from assay_conformance.checks.base import Check
from assay_conformance.checks.starts import SingleIsRandom, TurnsStartAnywhere
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script

CHECKS: list[tuple[type[Check], str]] = [(SingleIsRandom, "single"), (TurnsStartAnywhere, "round_robin")]
MANY = 14


def _judged(
    check: type[Check], routing: str, place: Callable[[int], int], producers: int = MANY, lost: int = 0, **named: Any
) -> tuple[list[str], int]:
    """So many producers of `routing` send a message each to `place`; the first of `lost` of them never leaves."""
    story = Script()
    story.connected()
    for number in range(producers):
        handle, partition = 100 + number, place(number)
        config = {"routing": routing, "batching": False}
        opening = story.invoke("open_producer", handle, args={"topic": "t", "config": config})
        story.producer_ready(producer_id=number, topic=f"t-partition-{partition}", name=f"n{number}")
        story.complete(opening)
        if number < lost:
            story.send(0, handle)
        first = int(number < lost)
        story.send(first, handle, **named)
        story.send_frame(first, producer_id=number, handle=handle, sequence_id=first)
    said = trial(check, story.done(), FIVE)
    return [finding.code for finding in said.findings], said.exercised


@pytest.mark.parametrize(("check", "routing"), CHECKS)
def test_producers_that_begin_anywhere_are_accepted(check: type[Check], routing: str) -> None:
    assert _judged(check, routing, lambda number: 1 if number else 4) == ([], 1)


@pytest.mark.parametrize(("check", "routing"), CHECKS)
def test_producers_that_all_begin_at_one_partition_are_found(check: type[Check], routing: str) -> None:
    assert _judged(check, routing, lambda _: 2) == (["all-at-one"], 1)


@pytest.mark.parametrize(("check", "routing"), CHECKS)
def test_a_dozen_may_begin_at_one_by_chance(check: type[Check], routing: str) -> None:
    assert _judged(check, routing, lambda _: 2, producers=MANY - 1) == ([], 0)


@pytest.mark.parametrize(("check", "routing"), CHECKS)
def test_producer_whose_first_message_never_left_began_nobody_knows_where(check: type[Check], routing: str) -> None:
    assert _judged(check, routing, lambda _: 2, lost=1) == ([], 0)


def test_keys_say_nothing_of_where_turns_begin() -> None:
    assert _judged(TurnsStartAnywhere, "round_robin", lambda _: 2, key="k") == ([], 0)


def test_each_is_about_its_own_mode() -> None:
    assert _judged(TurnsStartAnywhere, "single", lambda _: 2) == ([], 0)
