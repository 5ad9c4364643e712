"""The check of `routing.single-partition-is-random`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.routing._first_partition import MANY, judged

from assay_conformance.checks.base import Check
from assay_conformance.pulsar.checks.routing.round_robin_random_start import round_robin_random_start
from assay_conformance.pulsar.checks.routing.single_partition_is_random import single_partition_is_random

CHECKS: list[tuple[type[Check], str]] = [
    (single_partition_is_random, "single"),
    (round_robin_random_start, "round_robin"),
]


@pytest.mark.parametrize(("check", "routing"), CHECKS)
def test_producers_that_begin_anywhere_are_accepted(check: type[Check], routing: str) -> None:
    assert judged(check, routing, lambda number: 1 if number else 4) == ([], 1)


@pytest.mark.parametrize(("check", "routing"), CHECKS)
def test_producers_that_all_begin_at_one_partition_are_found(check: type[Check], routing: str) -> None:
    assert judged(check, routing, lambda _: 2) == (["all-at-one"], 1)


@pytest.mark.parametrize(("check", "routing"), CHECKS)
def test_a_dozen_may_begin_at_one_by_chance(check: type[Check], routing: str) -> None:
    assert judged(check, routing, lambda _: 2, producers=MANY - 1) == ([], 0)


@pytest.mark.parametrize(("check", "routing"), CHECKS)
def test_producer_whose_first_message_never_left_began_nobody_knows_where(check: type[Check], routing: str) -> None:
    assert judged(check, routing, lambda _: 2, lost=1) == ([], 0)
