"""Every clause of the screen is needed: there are words that only it flags, so a screen without it would miss them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from tests.conformance.ledger.wanted import IMPLIED, WANTED

from assay_conformance.ledger.clauses import CLAUSES, Covering, Scope, earliest_ms
from assay_conformance.ledger.rows import Subscription
from assay_conformance.ledger.words import Words


def flags(words: dict[str, Any], scope: dict[str, Any], without: tuple[str, ...] = ()) -> list[str]:
    kept = (clause for clause in CLAUSES.values() if clause.name not in without)
    return [clause.name for clause in kept if clause.holds(Words(**words), Scope(**scope))]


def test_every_clause_has_its_words() -> None:
    assert WANTED.keys() | IMPLIED.keys() == CLAUSES.keys()


@pytest.mark.parametrize("name", WANTED)
def test_there_are_words_that_only_this_clause_flags(name: str) -> None:
    assert flags(*WANTED[name]) == [name]


def test_a_screen_without_any_two_clauses_misses_both() -> None:
    for pair in combinations(WANTED, 2):
        assert not any(flags(*WANTED[name], without=pair) for name in pair), pair


def test_a_clause_that_is_implied_never_flags_alone() -> None:
    words, scope = {"least_nack_us": 10}, {"shared": 1, "nack_delay": 200_000}
    assert flags(words, scope) == ["at_once", "too_early"]


@pytest.mark.parametrize(("precision_ms", "earliest"), [(0, 1_000), (256, 744), (None, 744)])
def test_a_nacked_message_may_come_so_much_sooner_as_its_client_rounds_times_down(
    precision_ms: int | None, earliest: int
) -> None:
    assert earliest_ms(1_000, precision_ms) == earliest


def test_subscriptions_of_a_topic_are_those_that_name_it_and_those_of_every_topic() -> None:
    covering = Covering([Subscription(0, "a", topics="1 2"), Subscription(1, "b"), Subscription(2, "c", topics="2")])
    assert [one.sub for one in covering.of(1)] == [0, 1]
    assert [one.sub for one in covering.of(2)] == [0, 1, 2]
    assert [one.sub for one in covering.of(3)] == [1]
