"""The rows are the tables' columns, and a reader learns from the tables what every column means."""

from __future__ import annotations

import pytest

from assay_conformance.ledger import rows
from assay_conformance.ledger.tables import PARTS, SMALL, TABLES, Kind, Layout, Table


@pytest.mark.parametrize("table", [*PARTS, *SMALL], ids=lambda table: table.name)
def test_a_row_has_the_columns_of_its_table(table: Table) -> None:
    row = getattr(rows, table.name.capitalize())
    assert row._fields == tuple(column.name for column in table.columns)


@pytest.mark.parametrize("table", PARTS, ids=lambda table: table.name)
def test_a_table_in_parts_has_no_text(table: Table) -> None:
    assert all(column.kind is not Kind.TEXT for column in table.columns)


def test_growing_columns_are_stored_as_differences() -> None:
    growing = {column.name for table in PARTS for column in table.columns if column.layout is Layout.DELTA}
    assert growing == {"seq", "t", "entry", "pos", "ledger", "t_done"}


def test_every_table_is_found_by_its_name() -> None:
    assert set(TABLES) == {table.name for table in (*PARTS, *SMALL)}
