"""Reading logs: Parquet, CSV with a head line, or JSON lines, in batches of rows as they are.

A line that is no row, because it is torn or has other columns than the head, says so in its place; the others are read.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet

from assay_conformance.model.errors import UsageError
from assay_reports.ledgers.mapping.map_file import Unit

BATCH_ROWS = 50_000
BELOW_16, BELOW_31, BELOW_63 = 1 << 15, 1 << 31, 1 << 63
"""Bounds of what columns of tables hold."""
_SHOWN = 60
_MOST_NAMES = 40

Row = dict[str, Any]


class BadRowError(Exception):
    """One row that says nothing that can be used."""


class Batch(NamedTuple):
    """`rows`: each with its number in the file; what is none says why. `names`: the columns that were seen in them."""

    rows: Sequence[tuple[int, Row | BadRowError]]
    names: Collection[str]


def log_files(folder: Path, pattern: str, where: str) -> list[Path]:
    """UsageError when there are none."""
    try:
        found = sorted(path for path in folder.glob(pattern) if path.is_file())
    except (NotImplementedError, ValueError) as error:
        raise UsageError(f"{where}: files {pattern!r}: expected a pattern of names, relative to the map") from error
    if not found:
        raise UsageError(f"{where}: no file matches {pattern!r} in {folder}")
    return found


def batches(path: Path, columns: Mapping[str, str]) -> Iterator[Batch]:
    """The rows of a file. `columns`: key of the map -> the column that it names.

    UsageError when the file cannot be read, or its head lacks one of them. JSON lines have no head: what none of a
    row's keys names is empty.
    """
    reader = _READERS.get(path.suffix)
    if reader is None:
        raise UsageError(f"{path}: expected a file that ends in {', '.join(_READERS)}")
    try:
        yield from reader(path, columns)
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error


def has(path: Path, names: Collection[str], columns: Mapping[str, str]) -> None:
    """UsageError when one of the columns is not there."""
    if not names:
        raise UsageError(f"{path}: is empty; expected a first line with the names of its columns")
    for key, column in columns.items():
        if column not in names:
            raise UsageError(f"{path}: no column {column!r}, which {key} names; it has {_listed(names)}")


def _listed(names: Collection[str]) -> str:
    """Of a file that is none of ours there may be many, and of any length."""
    told = ", ".join(name if len(name) <= _SHOWN else f"{name[:_SHOWN]!r}..." for name in list(names)[:_MOST_NAMES])
    return f"{told} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else told


def _parquet(path: Path, columns: Mapping[str, str]) -> Iterator[Batch]:
    wanted, first = sorted(set(columns.values())), 1
    with pyarrow.parquet.ParquetFile(path) as file:
        has(path, file.schema_arrow.names, columns)
        for batch in file.iter_batches(BATCH_ROWS, columns=wanted):
            yield Batch(list(enumerate(batch.to_pylist(), first)), wanted)
            first += batch.num_rows


def _csv(path: Path, columns: Mapping[str, str]) -> Iterator[Batch]:
    # As text: what a column means is the map's business. Bytes that are no UTF-8 stay apart from each other.
    with path.open(encoding="utf-8-sig", errors="backslashreplace", newline="") as file:
        lines = _lines(csv.reader(file))
        head = next((line for line in lines if isinstance(line, list)), [])
        has(path, head, columns)
        numbered = enumerate((_of_line(head, line) for line in lines), 1)
        while rows := list(islice(numbered, BATCH_ROWS)):
            yield Batch(rows, head)


def _lines(reader: Iterator[list[str]]) -> Iterator[list[str] | BadRowError]:
    """Without empty ones."""
    while True:
        try:
            if line := next(reader):
                yield line
        except StopIteration:
            return
        except csv.Error as error:
            yield BadRowError(f"is no line of a CSV: {error}")


def _of_line(head: list[str], line: list[str] | BadRowError) -> Row | BadRowError:
    if isinstance(line, BadRowError):
        return line
    if len(line) != len(head):
        return BadRowError(f"has {len(line)} values, expected {len(head)}")
    return dict(zip(head, line, strict=True))


def _json(path: Path, columns: Mapping[str, str]) -> Iterator[Batch]:
    wanted = tuple(set(columns.values()))
    names: dict[str, None] = {}
    with path.open("rb") as file:
        numbered = ((number, _of_json(line, wanted, names)) for number, line in enumerate(file, 1) if line.strip())
        while rows := list(islice(numbered, BATCH_ROWS)):
            yield Batch(rows, names)


def _of_json(line: bytes, wanted: Sequence[str], names: dict[str, None]) -> Row | BadRowError:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return BadRowError(f"is no JSON: {error}")
    if not isinstance(found, dict):
        return BadRowError(f"is {_shown(found)}, expected an object")
    names.update(dict.fromkeys(found))
    return {name: found.get(name) for name in wanted}


_READERS: Mapping[str, Callable[[Path, Mapping[str, str]], Iterator[Batch]]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".jsonl": _json,
    ".ndjson": _json,
}


# --- values ----------------------------------------------------------------------------------------------------------

_US = {Unit.S: 1e6, Unit.MS: 1e3, Unit.US: 1, Unit.NS: 1e-3}


def whole(value: Any, column: str, below: int = BELOW_63) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadRowError(f"{column} is {_shown(value)}, expected a whole number") from error
    if isinstance(value, float) and number != value:
        raise BadRowError(f"{column} is {_shown(value)}, expected a whole number")
    if number < 0:
        raise BadRowError(f"{column} is {number}, expected no negative number")
    if number >= below:
        raise BadRowError(f"{column} is {number}, expected less than {below}")
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
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        return round(float(value) * _US[unit])
    except (TypeError, ValueError, OverflowError, KeyError) as error:
        raise BadRowError(f"{column} is {_shown(value)}, expected a time in {unit.value}") from error


def message_id(value: Any, column: str) -> tuple[int, int, int]:
    """ledger, entry, batch index of `ledger:entry`, `ledger:entry:partition` or `ledger:entry:partition:batch`."""
    if value is None or value == "":
        return -1, -1, -1
    try:
        parts = [int(part) for part in str(value).strip("()").replace(",", ":").split(":")]
        ledger, entry, batch = parts[0], parts[1], parts[3] if len(parts) > 3 else -1
    except (ValueError, IndexError) as error:
        raise BadRowError(f"{column} is {_shown(value)}, expected ledger:entry:partition:batch") from error
    if min(ledger, entry, batch) < -1 or max(ledger, entry) >= BELOW_63 or batch >= BELOW_31:
        raise BadRowError(f"{column} is {_shown(value)}, expected ledger:entry:partition:batch")
    return ledger, entry, batch


def _shown(value: Any) -> str:
    told = repr(value)
    return told if len(told) <= _SHOWN else f"{told[:_SHOWN]}..."
