"""How a ledger lies on disk, and what writes it.

A ledger is a folder: `ledger.json`, one Parquet file for each small table, one folder for each other table, with parts
`w<writer>-<part>.parquet` that are never changed. A part is written as a dot-file and renamed when it is whole, so that
whoever reads beside the writer sees whole parts only. Rows lie in row groups of up to 100,000, each sorted by stream
and seq: readers skip groups by their statistics, and growing columns shrink to small differences. Deliveries that are
not plain lie in groups of their own, so that whoever looks for them skips all others.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assay_conformance.ledger.info import LedgerInfo
from assay_conformance.ledger.tables import DELIVERY, NONE, PARTS, SMALL, Again, Integrity, Kind, Layout, Plain, Table
from assay_conformance.model.errors import UsageError
from assay_conformance.model.schema import CURRENT, FileKind, write_document
from assay_reports import within
from assay_reports.bounds import MOST_SMALL_CELLS
from assay_reports.files import writing

INFO = "ledger.json"
GROUP_ROWS = 100_000
PART_ROWS = 4_000_000
PART_S = 60.0
VERSION_KEY = b"assay.schema"
NULL: int = np.iinfo(np.int64).min
"""In a column of numpy that Parquet holds as nullable: null."""

Columns = Mapping[str, Any]
"""Column name -> numpy array; all of one length."""

_ARROW = {Kind.I8: pa.int8(), Kind.I16: pa.int16(), Kind.I32: pa.int32(), Kind.I64: pa.int64(), Kind.TEXT: pa.string()}
_DELTA = "DELTA_BINARY_PACKED"


def schema(table: Table) -> Any:
    """Return the Arrow schema of a table's files, with the version of ledgers in its metadata."""
    fields = [pa.field(column.name, _ARROW[column.kind], column.nullable) for column in table.columns]
    return pa.schema(fields, {VERSION_KEY: str(CURRENT[FileKind.LEDGER]).encode()})


def part_name(writer: int, part: int) -> str:
    return f"w{writer}-{part:06}.parquet"


def small_name(table: Table) -> str:
    return f"{table.name}.parquet"


def create(ledger: Path, info: LedgerInfo, resume: bool = False) -> None:
    """Make an empty ledger. UsageError when something is there already, unless `resume`."""
    if not resume and ledger.exists() and (not ledger.is_dir() or any(ledger.iterdir())):
        raise UsageError(f"{ledger}: is there already; name a folder that is not, or remove it first")
    with writing(ledger, "a folder that can be written"):
        for table in PARTS:
            (ledger / table.name).mkdir(parents=True, exist_ok=True)
    write_info(ledger, info)


def write_info(ledger: Path, info: LedgerInfo) -> None:
    write_file(ledger, INFO, write_document(info))


def write_file(ledger: Path, name: str, data: bytes) -> None:
    """Write a whole file of a ledger, whatever was there before."""
    with writing(ledger / name, "a folder that can be written"):
        within.replace(ledger, name, data)


def write_small(ledger: Path, table: Table, rows: Iterable[tuple[Any, ...]]) -> None:
    """Write one of the small tables as a whole, in place of what was there.

    Raises UsageError when it has more rows than readers hold.
    """
    columns = list(zip(*rows, strict=True)) or [()] * len(table.columns)
    see_size(table, len(columns[0]), f"{ledger / small_name(table)}")
    described = schema(table)
    arrays = [pa.array(list(values), field.type) for values, field in zip(columns, described, strict=True)]
    content = pa.Table.from_arrays(arrays, schema=described)
    pq.write_table(content, data := io.BytesIO(), write_page_checksum=True)
    write_file(ledger, small_name(table), data.getvalue())


def see_size(table: Table, rows: int, where: str) -> None:
    """Raise UsageError when a small table has more rows than readers hold."""
    if rows > (most := MOST_SMALL_CELLS // len(table.columns)):
        raise UsageError(f"{where}: has {rows} rows; expected at most {most}")


def write_smalls(ledger: Path, rows: Mapping[str, Iterable[tuple[Any, ...]]]) -> None:
    """Write all small tables; one that is not given is empty."""
    for table in SMALL:
        write_small(ledger, table, rows.get(table.name, ()))


class PartWriter:
    """The parts of one writer in one table, numbered from `first`.

    Rows come in pieces of any size; columns that are not the table's are left out, and `plain` is found here. A part is
    closed when it has `part_rows` rows or is `part_s` old, and by `close`.
    """

    def __init__(
        self,
        ledger: Path,
        table: Table,
        writer: int,
        *,
        first: int = 0,
        part_rows: int = PART_ROWS,
        part_s: float = PART_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table = table
        self._ledger = ledger
        self._schema = schema(table)
        self._options = writing_options(table)
        self._writer = writer
        self._next = first
        self._part_rows, self._part_s = part_rows, part_s
        self._clock = clock
        self._waiting: list[Columns] = []
        self._held = 0
        self._written = 0
        self._apart: list[Columns] = []
        self._held_apart = 0
        self._file: Any = None
        self._disk: BinaryIO | None = None
        self._opened_at = 0.0
        self.rows = 0

    def add(self, columns: Columns) -> None:
        length = len(next(iter(columns.values())))
        if not length:
            return
        if not self._written and not self._held:
            self._opened_at = self._clock()
        if self._table is DELIVERY:
            columns = {**columns, "plain": _plain(columns)}
        _see_bounds(self._table, columns)
        self._waiting.append({name: columns[name] for name in self._schema.names})
        self._held += length
        self.rows += length
        while self._held >= GROUP_ROWS:
            self._write(min(GROUP_ROWS, self._part_rows - self._written))
            if self._written >= self._part_rows:
                self._finish()
        self.roll()

    def roll(self) -> None:
        """Close the part if it is old enough; for whoever has nothing to add."""
        if (self._written or self._held) and self._clock() - self._opened_at >= self._part_s:
            self.close()

    def close(self) -> None:
        """Write what is held, so that every row added is in a complete part; more rows may be added later."""
        while self._held:
            self._write(min(GROUP_ROWS, self._held, self._part_rows - self._written))
            if self._written >= self._part_rows:
                self._finish()
        self._finish()

    def _write(self, length: int) -> None:
        taken = _take(self._waiting, length)
        self._held -= length
        self._written += length
        if self._table is DELIVERY:
            taken = self._set_apart(taken)
        self._group(taken)

    def _set_apart(self, columns: Columns) -> Columns:
        """Return the plain ones of these deliveries; the others wait until they are a group, or the part ends."""
        others = columns["plain"] == Plain.NO
        if others.any():
            self._apart.append({name: values[others] for name, values in columns.items()})
            self._held_apart += int(others.sum())
            columns = {name: values[~others] for name, values in columns.items()}
        while self._held_apart >= GROUP_ROWS:
            self._held_apart -= GROUP_ROWS
            self._group(_take(self._apart, GROUP_ROWS))
        return columns

    def _group(self, columns: Columns) -> None:
        if not len(columns["seq"]):
            return
        with self._writing():
            if self._file is None:
                self._disk = within.create_buffered(self._ledger, self._name(dot=True))
                self._file = pq.ParquetWriter(self._disk, self._schema, **self._options)
            self._file.write_table(_sorted(columns, self._schema), row_group_size=GROUP_ROWS)

    def _finish(self) -> None:
        if self._held_apart:
            self._group(_take(self._apart, self._held_apart))
            self._held_apart = 0
        if self._file is None or self._disk is None:
            return
        with self._writing():
            self._file.close()
            self._disk.close()
            (self._ledger / self._name(dot=True)).rename(self._ledger / self._name())
        self._file = self._disk = None
        self._next += 1
        self._written = 0
        self._opened_at = self._clock()

    def _name(self, dot: bool = False) -> str:
        return f"{self._table.name}/{'.' if dot else ''}{part_name(self._writer, self._next)}"

    def _writing(self) -> AbstractContextManager[None]:
        return writing(self._ledger / self._table.name, "a folder that can be written")


def _take(pieces: list[Columns], length: int) -> Columns:
    """Return the first rows of the pieces, which are consumed."""
    taken: list[Columns] = []
    while length:
        first = pieces[0]
        have = len(next(iter(first.values())))
        if have <= length:
            taken.append(pieces.pop(0))
            length -= have
            continue
        taken.append({name: values[:length] for name, values in first.items()})
        pieces[0] = {name: values[length:] for name, values in first.items()}
        length = 0
    return {name: np.concatenate([piece[name] for piece in taken]) for name in taken[0]} if taken[1:] else taken[0]


def _see_bounds(table: Table, columns: Columns) -> None:
    """UsageError where a number cannot stand in its column; its part could not be judged."""
    for column in table.columns:
        if column.below is None:
            continue
        values = columns[column.name]
        for wrong in (values.min(), values.max()):
            if not 0 <= wrong < column.below:
                raise UsageError(
                    f"{table.name}: {column.name} {wrong} cannot be kept; expected 0 to {column.below - 1}"
                )


def _plain(columns: Columns) -> Any:
    """`ledger.certificates.plain` of many rows at once."""
    first = (columns["redeliv"] == 0) & (columns["again"] == Again.FIRST) & (columns["wait"] == NULL)
    in_order = (columns["gap"] >= 1) & (columns["kgap"] >= 1)
    kind = np.where(columns["key"] == NONE, Plain.UNKEYED, Plain.KEYED)
    return np.where(first & in_order & (columns["ok"] != Integrity.BAD), kind, Plain.NO)


def _sorted(columns: Columns, described: Any) -> Any:
    stream, seq = columns["stream"], columns["seq"]
    # Stable, so that copies of a message stay in the order in which they came.
    order = np.lexsort((seq, stream))
    arrays = [_array(columns[field.name][order], field) for field in described]
    return pa.Table.from_arrays(arrays, schema=described)


def _array(values: Any, field: Any) -> Any:
    mask = values == NULL if field.nullable else None
    return pa.array(values.astype(field.type.to_pandas_dtype(), copy=False), field.type, mask=mask)


def writing_options(table: Table) -> dict[str, Any]:
    """Return how pyarrow writes a table: its codec, and the encoding of each column."""
    encodings = {column.name: _DELTA for column in table.columns if column.layout is Layout.DELTA}
    encodings |= {column.name: "PLAIN" for column in table.columns if column.layout is Layout.PLAIN}
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [column.name for column in table.columns if column.layout is Layout.DICTIONARY],
        "column_encoding": encodings,
        "write_page_checksum": True,
    }
