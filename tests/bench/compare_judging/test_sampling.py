"""Which histories a quick comparison takes."""

from __future__ import annotations

from collections.abc import Iterable

from bench.compare_judging.results import Judged, Said
from bench.compare_judging.sampling import candidates, sample


def life(number: int, requirement: str = "a.one", *codes: str, part: str = "lives/1") -> Judged:
    said = Said("fail" if codes else "pass", 1, (1,), tuple((code, (1,)) for code in codes))
    return Judged(part, f"life-{number}/1", cpu_s=1.0, said={requirement: said})


def taken(lives: Iterable[Judged], cpu_s: float) -> list[str]:
    return [one.history for one in sample(candidates(lives, "a.one".__eq__), cpu_s)]


def test_histories_in_which_nothing_is_said_of_the_requirements_have_one_turn() -> None:
    others = (life(number, "b.other") for number in range(20, 50))
    assert sum(int(name[5:7]) >= 20 for name in taken([*map(life, range(10, 20)), *others], cpu_s=8)) == 4


def test_no_more_are_taken_than_there_is_time_for() -> None:
    assert len(taken(map(life, range(20)), cpu_s=5)) == 5


def test_a_rare_finding_is_taken_before_what_is_frequent() -> None:
    assert "life-50/1" in taken([*map(life, range(50)), life(50, "a.one", "reordered")], cpu_s=2)


def test_a_kind_of_client_of_which_there_is_little_has_its_turn() -> None:
    assert "life-50/1" in taken([*map(life, range(50)), life(50, part="agents/go")], cpu_s=2)


def test_the_same_ones_are_taken_in_whatever_order_they_come() -> None:
    lives = list(map(life, range(30)))
    assert taken(lives, cpu_s=5) == taken(lives[::-1], cpu_s=5)
