"""The catalogue leaves no row of its groups out."""

from __future__ import annotations

import pytest

from assay_conformance import catalogue

ROWS = {
    "ORD": 8,
    "RSD": 16,
    "DDP": 14,
    "CHK": 16,
    "ACK": 16,
    "NCK": 12,
    "UAT": 5,
    "THR": 16,
    "BAT": 10,
    "RTE": 11,
    "CMP": 4,
    "FLW": 12,
    "SUB": 8,
    "RDL": 4,
    "DLY": 4,
    "SEK": 5,
    "CON": 10,
    "PRD": 7,
    "TOP": 6,
    "ROB": 8,
}
"""Group of rows -> how many were drawn up for it, numbered from 1; what came later has higher numbers."""

DRAWN_UP = 192
STATED = catalogue.load().requirements.values()


def test_all_rows_were_drawn_up() -> None:
    assert sum(ROWS.values()) == DRAWN_UP


@pytest.mark.parametrize("group", ROWS)
def test_every_row_of_a_group_is_stated(group: str) -> None:
    stated = {one.row for one in STATED}
    assert {f"{group}-{number:03}" for number in range(1, ROWS[group] + 1)} - stated == set()
