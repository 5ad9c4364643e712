"""Reading logs: Parquet, CSV with a head line, or JSON lines, in batches of rows as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from assay_conformance.model.errors import UsageError
from assay_reports.ledgers.mapping.map_file import Unit

BATCH_BYTES = 4 << 20
BATCH_ROWS = 50_000

Row = dict[str, Any]


class BadRowError(Exception):
    """One row that says nothing that can be used."""


def log_files(folder: Path, pattern: str, where: str) -> list[Path]:
    """UsageError when there are none."""
    found = sorted(path for path in folder.glob(pattern) if path.is_file())
    if not found:
        raise UsageError(f"{where}: no file matches {pattern!r} in {folder}")
    return found


def batches(path: Path, columns: Mapping[str, str]) -> Iterator[tuple[int, list[Row]]]:
    """(number of the first row, rows) of a file. `columns`: key of the map -> the column that it names.

    UsageError when the file cannot be read, or lacks one of them.
    """
    reader = _READERS.get(path.suffix)
    if reader is None:
        raise UsageError(f"{path}: expected a file that ends in {', '.join(_READERS)}")
    first = 1
    try:
        for batch in reader(path):
            _has(path, batch.schema.names, columns)
            wanted = batch.select(sorted(set(columns.values())))
            yield first, wanted.to_pylist()
            first += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error


def _has(path: Path, names: Sequence[str], columns: Mapping[str, str]) -> None:
    for key, column in columns.items():
        if column not in names:
            raise UsageError(f"{path}: no column {column!r}, which {key} names; it has {', '.join(names)}")


def _parquet(path: Path) -> Iterator[Any]:
    with pyarrow.parquet.ParquetFile(path) as file:
        yield from file.iter_batches(BATCH_ROWS)


def _csv(path: Path) -> Iterator[Any]:
    # As text: what a column means is the map's business, and a bad value is a bad row, not a bad file.
    head = path.open(encoding="utf-8").readline().rstrip("\r\n").split(",")
    types = {name.strip('"'): pa.string() for name in head}
    read = pyarrow.csv.ReadOptions(block_size=BATCH_BYTES)
    yield from pyarrow.csv.open_csv(path, read, convert_options=pyarrow.csv.ConvertOptions(column_types=types))


def _json(path: Path) -> Iterator[Any]:
    yield from pyarrow.json.open_json(path, pyarrow.json.ReadOptions(block_size=BATCH_BYTES))


_READERS: Mapping[str, Callable[[Path], Iterator[Any]]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".jsonl": _json,
    ".ndjson": _json,
}


# --- values ----------------------------------------------------------------------------------------------------------

_US = {Unit.S: 1e6, Unit.MS: 1e3, Unit.US: 1, Unit.NS: 1e-3}


def whole(value: Any, column: str) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError) as error:
        raise BadRowError(f"{column} is {value!r}, expected a whole number") from error
    if number < 0:
        raise BadRowError(f"{column} is {number}, expected no negative number")
    return number


def text(value: Any, column: str) -> str:
    if value is None or value == "":
        raise BadRowError(f"{column} is empty")
    return str(value)


def unix_us(value: Any, column: str, unit: Unit) -> int:
    """µs since 1970."""
    try:
        if isinstance(value, datetime) or unit is Unit.ISO:
            moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return round(moment.timestamp() * 1e6)
        if isinstance(value, float):
            return round(value * _US[unit])
        # Nanoseconds since 1970 do not fit a float.
        return int(value) * int(_US[unit]) if unit is not Unit.NS else int(value) // 1000
    except (TypeError, ValueError):
        pass
    try:
        return round(float(value) * _US[unit])
    except (TypeError, ValueError, KeyError) as error:
        raise BadRowError(f"{column} is {value!r}, expected a time in {unit.value}") from error


def message_id(value: Any, column: str) -> tuple[int, int, int]:
    """ledger, entry, batch index of `ledger:entry`, `ledger:entry:partition` or `ledger:entry:partition:batch`."""
    if value is None or value == "":
        return -1, -1, -1
    try:
        parts = [int(part) for part in str(value).strip("()").split(":")]
        ledger, entry = parts[0], parts[1]
    except (ValueError, IndexError) as error:
        raise BadRowError(f"{column} is {value!r}, expected ledger:entry:partition:batch") from error
    return ledger, entry, parts[3] if len(parts) > 3 else -1
