"""Pairs of mutants that break one rule in the same way."""

from __future__ import annotations

import random
from pathlib import Path

from bench.beside_listed import areas_of, broken, listing, pairs, shows

from assay_conformance.model.case import Case
from assay_conformance.model.requirement import RequirementId
from assay_fixtures.exploration.known import Known
from assay_fixtures.runner.folder import RunFolder


def test_both_of_a_pair_break_its_requirement_in_the_same_way() -> None:
    pair = next(pairs(random.Random(1)))
    assert pair.listed != pair.other
    assert all(pair.breach in shows(name, RequirementId(pair.breach[0])) for name in (pair.listed, pair.other))
    assert areas_of(pair)


def test_pairs_are_those_of_their_seed() -> None:
    first, again = (next(pairs(random.Random(1))) for _ in range(2))
    assert first == again


def test_the_listed_one_is_known_where_its_trigger_is_and_nowhere_else(tmp_path: Path) -> None:
    pair = next(pairs(random.Random(1)))
    folder = RunFolder.create(tmp_path / "list")
    known = Known(listing(pair, folder), "0", folder.path)
    nothing = Case(id="x", title="x", requirements=(), steps=())
    assert pair.breach in broken((pair.listed,), pair.case)
    assert known.of(pair.case, frozenset({pair.breach})) == {pair.breach}
    assert known.of(nothing, frozenset({pair.breach})) == frozenset()
