"""What lives have to show before they count as evidence that nobody honest is blamed."""

from __future__ import annotations

import pytest
from bench.no_false_alarm import OFTEN, Figures, Life, figures, missed

from assay_fixtures.packs import load_packs

GOOD = Figures(lives=10, harmed=0.7, judged=100, inconclusive=0.01, by_lives=1, seldom={})


def test_lives_that_reach_every_goal_miss_none() -> None:
    assert list(missed(GOOD)) == []


@pytest.mark.parametrize(
    ("known", "what"),
    [
        (GOOD._replace(harmed=0.69), "with a fault"),
        (GOOD._replace(inconclusive=0.011), "inconclusive"),
        (GOOD._replace(seldom={"a.b": 99}), "a.b"),
    ],
)
def test_each_goal_that_is_missed_is_named(known: Figures, what: str) -> None:
    told = list(missed(known))
    assert len(told) == 1
    assert what in told[0]


def test_over_sockets_no_directed_case_exercises_what_lives_do_not() -> None:
    assert list(missed(GOOD._replace(seldom={"a.b": 99}), sockets=True)) == []


def test_requirements_that_lives_exercise_often_are_not_missed() -> None:
    pack = load_packs()
    known = figures({1: [Life(dict.fromkeys(map(str, pack.checks), OFTEN), fired=1), Life({}, fired=0)]}, {}, pack)
    assert (known.harmed, known.seldom) == (0.5, {})


def test_a_directed_case_is_none_of_the_lives_with_a_fault() -> None:
    known = figures({1: [Life({"a.b": OFTEN}, fired=0)]}, {1: [Life({"a.c": OFTEN}, fired=1)]}, load_packs())
    assert (known.lives, known.harmed, known.by_lives) == (1, 0.0, 1)
