"""What a run of CI leaves out of tests that take long."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from tests import drawn


@dataclass(frozen=True)
class Marked:
    """As much of an item of pytest as is asked for what a run has."""

    name: str
    mark: pytest.MarkDecorator | None = None
    path: Path = Path("tests/test_x.py")

    @property
    def nodeid(self) -> str:
        return f"{self.path}::{self.name}"

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.mark.mark if self.mark is not None and self.mark.name == name else None


def _test(name: str, items: int, mark: pytest.MarkDecorator | None = None) -> list[pytest.Item]:
    return [cast(pytest.Item, Marked(f"{name}[{number}]", mark)) for number in range(items)]


ITEMS = (
    *_test("slow", 9, pytest.mark.few(2)),
    *_test("quick", 3),
    *_test("long", 3, pytest.mark.one_in(3)),
    *_test("together", 4, pytest.mark.one_in(3, group="shared")),
)


@pytest.fixture(autouse=True)
def _by_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "NIGHTLY", False)


def _names(fresh: int, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The items that a run of that number has."""
    monkeypatch.setenv("ASSAY_FRESH", str(fresh))
    return tuple(item.name for item in drawn.drawn_items(ITEMS))


def _count(fresh: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    return Counter(name.partition("[")[0] for name in _names(fresh, monkeypatch))


def test_few_items_of_a_test_that_asks_for_it_are_run_and_all_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    run = _count(1, monkeypatch)
    assert (run["slow"], run["quick"]) == (2, 3)


def test_other_items_are_run_with_another_number(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = {tuple(name for name in _names(fresh, monkeypatch) if "slow" in name) for fresh in range(20)}
    assert len(slow) > 1


def test_one_of_so_many_runs_has_each_item_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [name for fresh in range(30, 33) for name in _names(fresh, monkeypatch) if "long" in name]
    assert sorted(runs) == ["long[0]", "long[1]", "long[2]"]


def test_a_group_is_run_together_in_one_of_so_many_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorted(_count(fresh, monkeypatch)["together"] for fresh in range(30, 33)) == [0, 0, 4]


def test_all_items_are_run_at_night(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "NIGHTLY", True)
    assert _names(1, monkeypatch) == tuple(item.name for item in ITEMS)
