"""What a run of CI leaves out of tests that take long with each of their parameters."""

from __future__ import annotations

import pytest
from tests import drawn

pytest_plugins = ["pytester"]

TESTS = """
    import pytest

    @pytest.mark.few(2)
    @pytest.mark.parametrize("number", range(9))
    def test_slow(number): ...

    @pytest.mark.parametrize("number", range(3))
    def test_quick(number): ...
"""


def _left(pytester: pytest.Pytester) -> list[str]:
    return [item.name for item in drawn.few_items(pytester.getitems(TESTS))]


pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnknownMarkWarning")
"""The pytest inside has a configuration of its own."""


@pytest.fixture(autouse=True)
def _by_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "NIGHTLY", False)


def test_few_items_of_a_test_that_asks_for_it_are_run_and_all_of_others(pytester: pytest.Pytester) -> None:
    names = [name.partition("[")[0] for name in _left(pytester)]
    assert (names.count("test_slow"), names.count("test_quick")) == (2, 3)


def test_other_items_are_run_with_another_number(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = set()
    for fresh in range(20):
        monkeypatch.setenv("ASSAY_FRESH", str(fresh))
        runs.add(tuple(_left(pytester)))
    assert len(runs) > 1


def test_all_items_are_run_at_night(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "NIGHTLY", True)
    assert len(_left(pytester)) == 12
