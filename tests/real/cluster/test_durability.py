"""What was acknowledged is there, once and in its order, whatever process of a real cluster dies meanwhile.

The Cases are those of `pulsar/cases/ordering/durability.py`, by seed, and the checks are those of every run;
`bench/durability` runs them, and says which kills count.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.durability.killing import Durability
from bench.durability.result import Row, Tally, remarks, table

from assay_conformance.pulsar.cases.ordering.durability import KINDS

pytestmark = pytest.mark.long

KILLS_OF_EACH_KIND = 20
MOST_UNDECIDED = 0.1
"""A machine that stands still in the middle of a kill decides nothing; more of that is no test."""


def _assert_nothing_is_lost(row: Row, tally: Tally, kills: int) -> None:
    said = "\n".join((*table({row: tally}), *remarks({row: tally})))
    print(said)  # shown by -rP: what was undecided is bounded, and not passed over
    assert not tally.failed, said
    assert len(tally.counted) >= kills, said
    assert all(result.ledgers > 1 for result in tally.results), said
    assert len(tally.undecided) <= MOST_UNDECIDED * len(tally.passed), said


@pytest.mark.parametrize("kind", KINDS)
def test_kills_lose_and_reorder_nothing_that_was_acknowledged(kind: str, tmp_path: Path) -> None:
    row = Row("reference", kind, write_quorum=2)
    _assert_nothing_is_lost(row, Durability(tmp_path).kill(row, 1, KILLS_OF_EACH_KIND), KILLS_OF_EACH_KIND)


@pytest.mark.parametrize("kind", KINDS)
def test_the_python_client_loses_nothing_either(kind: str, tmp_path: Path) -> None:
    row = Row("pulsar-python", kind, write_quorum=2)
    _assert_nothing_is_lost(row, Durability(tmp_path).kill(row, 2, 5), 5)


@pytest.mark.parametrize("kind", ["bookie", "both"])
def test_entries_on_every_bookie_are_no_more_easily_lost(kind: str, tmp_path: Path) -> None:
    row = Row("reference", kind, write_quorum=3)
    _assert_nothing_is_lost(row, Durability(tmp_path).kill(row, 3, 5), 5)
