"""Keys across consumers: Spark finds those that moved and the messages that were overtaken, and clears no key that
holds one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.histories import info, pack
from tests.spark.ledgers import write

from assay_conformance.ledger import keys
from assay_conformance.ledger.keys import Calm, Crew
from assay_conformance.ledger.tables import DELIVERY, NONE
from assay_reports.ledgers.opening import Ledger, open_ledger, smalls
from assay_reports.spark import turns

HALVES = ("first <= last", "first_us <= last_us")


@pytest.fixture(scope="module")
def jumbled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ledger, tuple[keys.Overtaken, ...]]:
    """Keys that move when somebody comes, too early and at random; and what of them was overtaken."""
    packed = pack(3, 150, ("key_moved", "overtaken"), most=2)
    ledger = open_ledger(str(write(tmp_path_factory.mktemp("keys") / "ledger", packed, info(), seed=3)))
    return ledger, keys.overtaken(packed.deliveries, packed.smalls(), info())


def test_spark_finds_what_python_finds(spark: Any, jumbled: tuple[Ledger, tuple[keys.Overtaken, ...]]) -> None:
    ledger, known = jumbled
    assert known
    assert turns.keys(spark, ledger, smalls(ledger)).overtaken == known


@pytest.mark.parametrize("half", HALVES)
def test_either_half_of_what_clears_a_key_is_needed(
    half: str, spark: Any, jumbled: tuple[Ledger, tuple[keys.Overtaken, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, known = jumbled
    whole = turns._unclear()
    assert whole.endswith(" or ".join(HALVES))
    monkeypatch.setattr(turns, "_unclear", lambda: whole.replace(" or ".join(HALVES), half))
    assert set(turns.keys(spark, ledger, smalls(ledger)).overtaken) < set(known)


def test_spark_finds_the_keys_that_python_finds(spark: Any, jumbled: tuple[Ledger, tuple[keys.Overtaken, ...]]) -> None:
    ledger, _ = jumbled
    small, deliveries = smalls(ledger), tuple(ledger.read(DELIVERY))
    turned = keys.turns(deliveries, small, info())
    pairs = keys.crossing(turned)
    found = turns.keys(spark, ledger, small)
    assert pairs
    assert found.kept == keys.kept(turned)
    assert found.moved == keys.moved(pairs, keys.firsts(deliveries, small, pairs))


def test_a_time_lies_in_one_calm_and_one_crew_at_most() -> None:
    calm = [Calm(4, 0, 0, 9), Calm(4, 1, 20, 29)]
    crew = [Crew(4, 0, 0, 24), Crew(4, 1, 25, 40)]
    assert list(turns.times(calm, crew)) == [
        (4, 0, 0, 0, 9),
        (4, NONE, 0, 10, 19),
        (4, 1, 0, 20, 24),
        (4, 1, 1, 25, 29),
        (4, NONE, 1, 30, 40),
    ]
