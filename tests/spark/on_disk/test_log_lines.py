"""Logs are read in a stream: no line, row or batch of theirs is held beyond its bound."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from assay_conformance.model.errors import UsageError
from assay_reports.bounds import MOST_LINE_BYTES
from assay_reports.ledgers.mapping.log_lines import BATCH_BYTES, TOO_LONG, CsvRows, JsonLines, in_batches
from assay_reports.ledgers.mapping.logs import batches
from assay_reports.ledgers.mapping.values import BadRowError

LONG = "x" * (2 * MOST_LINE_BYTES)


def _rows(text: str) -> list[list[str] | str]:
    found = CsvRows(io.StringIO(text, newline=""))
    return [str(row) if isinstance(row, BadRowError) else row for row in found]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_without_end_is_a_bad_row_and_those_beside_it_are_read(end: str) -> None:
    assert _rows(f"a,b{end}{LONG}{end}c,d{end}") == [["a", "b"], TOO_LONG, ["c", "d"]]


def test_a_row_of_many_lines_is_bounded_as_one_of_a_single_line_is() -> None:
    lines = ",".join(['"1\n2"'] * (MOST_LINE_BYTES // 4))
    rows = _rows(f"a,b\n{lines}\n")
    assert rows[:2] == [["a", "b"], TOO_LONG]


def test_a_value_of_several_lines_is_one_value() -> None:
    assert _rows('a,"b\n\nc"\nd,e\n') == [["a", "b\n\nc"], ["d", "e"]]


def test_a_log_larger_than_memory_whose_first_line_has_no_end_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "producers.csv"
    path.touch()
    os.truncate(path, 1 << 42)
    with pytest.raises(UsageError, match="its first line is longer than 1048576 bytes; expected the names"):
        next(batches(path, {"key": "a"}))


def test_of_a_row_what_the_map_names_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "producers.csv"
    path.write_text("a,b,c\n1,2,3\n")
    (batch,) = batches(path, {"key": "b"})
    assert list(batch.rows) == [(1, {"b": "2"})]


def test_a_batch_ends_where_its_lines_come_to_the_bound() -> None:
    line = b"y" * (MOST_LINE_BYTES - 1) + b"\n"
    lines = JsonLines(io.BytesIO(line * 40))
    sizes = [sum(map(len, batch)) for batch in in_batches(iter(lines), lines)]
    assert (max(sizes), sum(sizes)) == (BATCH_BYTES, 40 * len(line))
