"""The fullest stretch: a slow start earns nothing, and what a pause earned is not kept."""

from __future__ import annotations

import pytest

from assay_conformance.ledger.pace import busiest


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({}, (0.0, 0, 0)),
        ({0: 5}, (5.0, 0, 0)),
        ({0: 10, 1: 10, 2: 10}, (10.0, 0, 0)),
        ({0: 10, 1: 40, 3: 10}, (40.0, 0, 1)),
        ({0: 1, 10: 20, 11: 20}, (30.0, 1, 2)),
    ],
)
def test_the_fullest_stretch_beyond_ten_a_unit(counts: dict[int, int], told: tuple[float, int, int]) -> None:
    assert busiest(list(counts), list(counts.values()), 10) == told
