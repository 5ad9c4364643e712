"""Rows of a Parquet file that is not ours: any type of column, values that Python does not have, and any size.

Arrow's own way into Python (`to_pylist`) ends at the first value that Python cannot hold: a timestamp with nanoseconds,
a date beyond the year 9999, text that is no UTF-8. Here such a value costs its row at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from assay_conformance.model.errors import UsageError
from assay_reports.bounds import MOST_COLUMN_BYTES
from assay_reports.ledgers.mapping.values import BadRowError, Moment, Row
from assay_reports.ledgers.parquet import open_parquet, read_footer

_A_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_US_A_SECOND: Final = 1_000_000


def parquet_rows(
    path: Path, wanted: Sequence[str], most_rows: int, see: Callable[[Sequence[str]], None]
) -> Iterator[list[Row | BadRowError]]:
    """Yield the columns `wanted` of a file, at most `most_rows` rows at once; `see` is shown the names of all columns
    first.

    UsageError for two columns of one name that is wanted, and for a row group that unpacks to too much; Arrow's own
    errors (`ledgers.parquet.UNREADABLE`) where it is no sound Parquet.
    """
    footer = read_footer(path)
    names = footer.schema.to_arrow_schema().names
    see(names)
    if twice := [name for name in wanted if names.count(name) > 1]:
        raise UsageError(f"{path}: several columns are named {twice[0]!r}; expected one")
    _see_sizes(path, footer, wanted)
    flat = {footer.schema.column(place).path for place in range(footer.num_columns)} & set(wanted)
    with open_parquet(path, as_dictionary=sorted(flat)) as file:
        for batch in file.iter_batches(most_rows, columns=list(wanted)):
            cells = [_cells(batch.column(name), name) for name in wanted]
            yield [_row(wanted, values) for values in zip(*cells, strict=True)]


def _see_sizes(path: Path, metadata: Any, wanted: Sequence[str]) -> None:
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            name, size = column.path_in_schema, column.total_uncompressed_size
            if name.split(".")[0] in wanted and size > MOST_COLUMN_BYTES:
                raise UsageError(
                    f"{path}: column {name!r} unpacks to {size >> 20} MiB in row group {number}; "
                    f"expected at most {MOST_COLUMN_BYTES >> 20} MiB: write smaller row groups"
                )


def _row(names: Sequence[str], values: Sequence[Any]) -> Row | BadRowError:
    for value in values:
        if isinstance(value, BadRowError):
            return value
    return dict(zip(names, values, strict=True))


def _cells(column: Any, name: str) -> list[Any]:
    """Return the values of a column; a BadRowError in place of one that cannot be had."""
    if pa.types.is_dictionary(column.type):
        # Each value once, however many rows name it.
        values = _cells(column.dictionary, name)
        return [None if place is None else values[place] for place in column.indices.to_pylist()]
    if pa.types.is_timestamp(column.type):
        a_second = _A_SECOND[column.type.unit]
        whole = column.view(pa.int64()).to_pylist()
        return [None if value is None else Moment(value * _US_A_SECOND // a_second) for value in whole]
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError, pa.ArrowException):
        return [_cell(value, name) for value in column]


def _cell(value: Any, name: str) -> Any:
    try:
        return value.as_py()
    except UnicodeDecodeError:
        # As in a CSV: bytes that are no UTF-8 stay apart from each other.
        return value.as_buffer().to_pybytes().decode("utf-8", "backslashreplace")
    except (ValueError, OverflowError, pa.ArrowException) as error:
        return BadRowError(f"{name} holds {value.type} that cannot be read: {str(error).splitlines()[0][:100]}")
