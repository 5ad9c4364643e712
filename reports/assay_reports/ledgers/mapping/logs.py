"""Reading logs: Parquet, CSV with a head line, or JSON lines, in batches of rows as they are.

A line that is no row, because it is torn or has other columns than the head, says so in its place; the others are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay_conformance.model.errors import UsageError
from assay_reports.bounds import MOST_LINE_BYTES
from assay_reports.files import open_regular, understanding
from assay_reports.ledgers.mapping.log_lines import BATCH_ROWS, TOO_LONG, CsvRows, JsonLines, in_batches
from assay_reports.ledgers.mapping.map_file import Unit
from assay_reports.ledgers.mapping.parquet_log import parquet_rows
from assay_reports.ledgers.mapping.values import BadRowError, Moment, Row, cut, shown
from assay_reports.ledgers.parquet import UNREADABLE, said

BELOW_16, BELOW_31, BELOW_63 = 1 << 15, 1 << 31, 1 << 63
"""Bounds of what columns of tables hold."""
A_LOG = "a log"
_SHOWN = 60
_MOST_NAMES = 40


class Batch(NamedTuple):
    """`rows`: each with its number in the file; what is none says why. `names`: the columns that were seen in them."""

    rows: Sequence[tuple[int, Row | BadRowError]]
    names: Collection[str]


def log_files(folder: Path, pattern: str, where: str) -> list[Path]:
    """Return the files in `folder` that match `pattern`, sorted. Raises UsageError when there are none."""
    try:
        found = sorted(path for path in folder.glob(pattern) if path.is_file())
    except (NotImplementedError, ValueError, OSError) as error:
        raise UsageError(
            f"{where}: files {shown(pattern)}: expected a pattern of names, relative to the map"
        ) from error
    if not found:
        raise UsageError(f"{where}: no file matches {shown(pattern)} in {folder}")
    return found


def batches(path: Path, columns: Mapping[str, str]) -> Iterator[Batch]:
    """Yield the rows of a file. `columns`: key of the map -> the column that it names.

    UsageError when the file cannot be read, or its head lacks one of them. JSON lines have no head: what none of a
    row's keys names is empty.
    """
    reader = _READERS.get(path.suffix)
    if reader is None:
        raise UsageError(f"{path}: expected a file that ends in {', '.join(_READERS)}")
    try:
        with understanding(path, A_LOG):
            yield from reader(path, columns)
    except UNREADABLE as error:
        raise UsageError(f"{path}: cannot be read: {said(error)}") from error


def has(path: Path, names: Collection[str], columns: Mapping[str, str]) -> None:
    """Raise UsageError when a column that the map names is not in the file."""
    if not names:
        raise UsageError(f"{path}: is empty; expected a first line with the names of its columns")
    for key, column in columns.items():
        if column not in names:
            raise UsageError(f"{path}: no column {shown(column)}, which {key} names; it has {_listed(names)}")


def _listed(names: Collection[str]) -> str:
    """Of a file that is none of ours there may be many, and of any length."""
    listed = ", ".join(name if len(name) <= _SHOWN else f"{name[:_SHOWN]!r}..." for name in list(names)[:_MOST_NAMES])
    return f"{listed} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else listed


def _of_parquet(path: Path, columns: Mapping[str, str]) -> Iterator[Batch]:
    wanted, first = sorted(set(columns.values())), 1
    # Arrow opens it again, by its name, for it reads in several threads.
    open_regular(path, A_LOG).close()
    for rows in parquet_rows(path, wanted, BATCH_ROWS, lambda names: has(path, names, columns)):
        yield Batch(list(enumerate(rows, first)), wanted)
        first += len(rows)


def _csv(path: Path, columns: Mapping[str, str]) -> Iterator[Batch]:
    # As text: what a column means is the map's business. Bytes that are no UTF-8 stay apart from each other.
    with TextIOWrapper(open_regular(path, A_LOG), encoding="utf-8-sig", errors="backslashreplace", newline="") as file:
        lines = CsvRows(file)
        rows = iter(lines)
        head = next(rows, [])
        if isinstance(head, BadRowError):
            raise UsageError(f"{path}: its first line {head}; expected the names of its columns")
        has(path, head, columns)
        places = {name: place for place, name in enumerate(head)}
        wanted = {name: places[name] for name in columns.values()}
        numbered = enumerate((_of_row(wanted, len(head), row) for row in rows), 1)
        for batch in in_batches(numbered, lines):
            yield Batch(batch, wanted)


def _of_row(places: Mapping[str, int], width: int, row: list[str] | BadRowError) -> Row | BadRowError:
    if isinstance(row, BadRowError):
        return row
    if len(row) != width:
        return BadRowError(f"has {len(row)} values, expected {width}")
    return {name: row[place] for name, place in places.items()}


def _json(path: Path, columns: Mapping[str, str]) -> Iterator[Batch]:
    wanted = tuple(set(columns.values()))
    names: dict[str, None] = {}
    with open_regular(path, A_LOG) as file:
        lines = JsonLines(file)
        numbered = ((number, _of_json(line, wanted, names)) for number, line in enumerate(lines, 1) if line.strip())
        for rows in in_batches(numbered, lines):
            yield Batch(rows, names)


def _of_json(line: bytes, wanted: Sequence[str], names: dict[str, None]) -> Row | BadRowError:
    if len(line) > MOST_LINE_BYTES:
        return BadRowError(TOO_LONG)
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return BadRowError(f"is no JSON: {error}")
    if not isinstance(found, dict):
        return BadRowError(f"is {shown(found)}, expected an object")
    # Those that the map names, and of others as many as a sentence lists.
    names.update(dict.fromkeys(name for name in found if name in wanted or len(names) <= _MOST_NAMES))
    return {name: found.get(name) for name in wanted}


_READERS: Mapping[str, Callable[[Path, Mapping[str, str]], Iterator[Batch]]] = {
    ".parquet": _of_parquet,
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
        raise BadRowError(f"{column} is {shown(value)}, expected a whole number") from error
    if isinstance(value, float) and number != value:
        raise BadRowError(f"{column} is {shown(value)}, expected a whole number")
    if number < 0:
        raise BadRowError(f"{column} is {cut(str(number))}, expected no negative number")
    if number >= below:
        raise BadRowError(f"{column} is {cut(str(number))}, expected less than {below}")
    return number


def text(value: Any, column: str) -> str:
    if value is None or value == "":
        raise BadRowError(f"{column} is empty")
    return str(value)


def unix_us(value: Any, column: str, unit: Unit) -> int:
    """Return a time in µs since 1970, UTC. Raises BadRowError for a value that is no time in `unit`."""
    if isinstance(value, Moment):
        return value.unix_us
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
        raise BadRowError(f"{column} is {shown(value)}, expected a time in {unit.value}") from error


def message_id(value: Any, column: str) -> tuple[int, int, int]:
    """Return ledger, entry and batch index of an id; -1 where it has none.

    It reads `ledger:entry`, `ledger:entry:partition` and `ledger:entry:partition:batch`, and raises BadRowError for
    others.
    """
    if value is None or value == "":
        return -1, -1, -1
    try:
        parts = [int(part) for part in str(value).strip("()").replace(",", ":").split(":")]
        ledger, entry, batch = parts[0], parts[1], parts[3] if len(parts) > 3 else -1
    except (ValueError, IndexError) as error:
        raise BadRowError(f"{column} is {shown(value)}, expected ledger:entry:partition:batch") from error
    if min(ledger, entry, batch) < -1 or max(ledger, entry) >= BELOW_63 or batch >= BELOW_31:
        raise BadRowError(f"{column} is {shown(value)}, expected ledger:entry:partition:batch")
    return ledger, entry, batch
