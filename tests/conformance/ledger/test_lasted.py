"""Times that things lasted."""

from __future__ import annotations

from math import inf

import pytest

from assay_conformance.ledger.lasted import Lasted


@pytest.mark.parametrize(("begun_by", "latest"), [(9, -inf), (10, 50), (20, 50), (60, 70), (80, inf)])
def test_latest_end_is_of_those_that_had_begun(begun_by: int, latest: float) -> None:
    assert Lasted([(60, 70), (10, 50), (20, 30), (80, inf)]).latest_end(begun_by) == latest


def test_nothing_that_lasted_has_no_end() -> None:
    assert Lasted([]).latest_end(5) == -inf
