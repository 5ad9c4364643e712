"""Keys across consumers: Spark finds the messages that were overtaken, and clears no key that holds one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.histories import info, pack
from tests.spark.ledgers import write

from assay_conformance.ledger import keys
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
    assert turns.overtaken(spark, ledger, smalls(ledger)) == known


@pytest.mark.parametrize("half", HALVES)
def test_either_half_of_what_clears_a_key_is_needed(
    half: str, spark: Any, jumbled: tuple[Ledger, tuple[keys.Overtaken, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, known = jumbled
    whole = turns._unclear()
    assert whole.endswith(" or ".join(HALVES))
    monkeypatch.setattr(turns, "_unclear", lambda: whole.replace(" or ".join(HALVES), half))
    assert set(turns.overtaken(spark, ledger, smalls(ledger))) < set(known)
