"""Opening a ledger: what is in it, and in one sentence what is wrong with it.

What makes a ledger unreadable as a whole is a UsageError: no ledger.json, a table that is missing, columns that are
missing, unknown or of another type, files of another version. A part that is broken is named in `bad`, and the rest
can be judged; its verdict is then not the last word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import fs

from assay_conformance.ledger import rows as row_types
from assay_conformance.ledger.collection import Small
from assay_conformance.ledger.info import LedgerInfo, read_info
from assay_conformance.ledger.tables import PARTS, SMALL, Table
from assay_conformance.model.errors import UsageError
from assay_reports.ledgers.layout import INFO, VERSION_KEY, schema, see_size, small_name
from assay_reports.ledgers.parquet import UNREADABLE, checked_footer, damage, read_table, said
from assay_reports.ledgers.places import is_file, names, place, small_file

DAMAGED = "its rows cannot be read; the file is damaged"

Filter = Any
"""An expression of pyarrow.compute, such as `pc.field("stream") == 3`."""


class Part(NamedTuple):
    """`file` is its path in the ledger; times are the least and the greatest `t`, None where there is none."""

    table: str
    file: str
    rows: int
    bytes: int
    groups: int
    t_from: int | None = None
    t_to: int | None = None


class BadPart(NamedTuple):
    table: str
    file: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


@dataclass(frozen=True)
class Ledger:
    """`small` holds the rows of each small table, by its name; `parts` those that can be read."""

    where: str
    info: LedgerInfo
    small: Mapping[str, tuple[Any, ...]]
    parts: Mapping[str, tuple[Part, ...]]
    bad: tuple[BadPart, ...]
    files: Any
    root: str

    def rows(self, table: str) -> int:
        return sum(part.rows for part in self.parts[table])

    def bytes(self, table: str) -> int:
        return sum(part.bytes for part in self.parts[table])

    def paths(self, table: str) -> list[str]:
        """Return the paths of a table's parts, for reading by `files`."""
        return [f"{self.root}/{part.file}" for part in self.parts[table]]

    def read(self, table: Table, where: Filter = None) -> Iterator[Any]:
        """Yield the rows of a table in parts, as values of `ledger.rows`, part after part. OSError names a damaged
        one."""
        for content in self.contents(table, where):
            yield from as_rows(table, content)

    def contents(self, table: Table, where: Filter = None) -> Iterator[Any]:
        """Yield an Arrow table for each part of a table. Raises OSError, which names the part, for a damaged one."""
        for part in self.parts[table.name]:
            try:
                yield read_table(f"{self.root}/{part.file}", self.files, schema(table), where)
            except UNREADABLE as error:
                raise OSError(f"{part.file}: {said(error)}") from error

    def damaged(self, parts: Iterable[Part]) -> Iterator[BadPart]:
        """Read every page of these parts, and yield those that are not what was written."""
        for part in parts:
            try:
                with self.files.open_input_file(f"{self.root}/{part.file}") as stream:
                    wrong = damage(stream)
            except OSError as error:
                wrong = said(error)
            if wrong:
                yield BadPart(part.table, part.file, f"{DAMAGED}: {wrong}")


def open_ledger(where: str) -> Ledger:
    """Return the ledger in a folder, or under a URI that pyarrow knows (s3://, hdfs://, ...)."""
    files, root = place(where)
    found = files.get_file_info(root).type
    if found is not fs.FileType.Directory:
        what = "no such folder" if found is fs.FileType.NotFound else "is no folder"
        raise UsageError(f"{where}: {what}; expected a ledger, as `assay ledger` writes one")
    info = read_info(_bytes(files, f"{root}/{INFO}", where), f"{where}/{INFO}")
    listed = {table.name: _listed(files, root, table, where) for table in PARTS}
    small = {table.name: _small(files, root, table, where, info) for table in SMALL}
    parts: dict[str, tuple[Part, ...]] = {}
    bad: list[BadPart] = []
    for table in PARTS:
        looked_at = [_part(files, root, table, file, where, info) for file in listed[table.name]]
        parts[table.name] = tuple(one for one in looked_at if isinstance(one, Part))
        bad += [one for one in looked_at if isinstance(one, BadPart)]
    return Ledger(where.rstrip("/"), info, small, parts, tuple(bad), files, root)


def is_begun(where: str) -> bool:
    """Return whether there is a ledger.json, whatever it holds, or a file in the place of the ledger's folder."""
    files, root = place(where)
    info, folder = files.get_file_info([f"{root}/{INFO}", root])
    return info.type is not fs.FileType.NotFound or folder.type not in (fs.FileType.NotFound, fs.FileType.Directory)


def grown(ledger: Ledger) -> Ledger:
    """Return the same ledger as it is now: the small tables again, and of the parts only those that are new."""
    files, root, where = ledger.files, ledger.root, ledger.where
    info = read_info(_bytes(files, f"{root}/{INFO}", where), f"{where}/{INFO}")
    small = {table.name: _small(files, root, table, where, info) for table in SMALL}
    known = {part.file for parts in ledger.parts.values() for part in parts} | {part.file for part in ledger.bad}
    parts, bad = {}, list(ledger.bad)
    for table in PARTS:
        new = [file for file in _listed(files, root, table, where) if file not in known]
        looked_at = [_part(files, root, table, file, where, info) for file in new]
        parts[table.name] = (*ledger.parts[table.name], *(one for one in looked_at if isinstance(one, Part)))
        bad += [one for one in looked_at if isinstance(one, BadPart)]
    return Ledger(where, info, small, parts, tuple(bad), files, root)


def without_damaged(ledger: Ledger) -> Ledger:
    """Return the same ledger, with every part in `bad` that is not what was written."""
    damaged = tuple(ledger.damaged(part for parts in ledger.parts.values() for part in parts))
    files = {part.file for part in damaged}
    parts = {name: tuple(part for part in of if part.file not in files) for name, of in ledger.parts.items()}
    return replace(ledger, parts=parts, bad=(*ledger.bad, *damaged))


def smalls(ledger: Ledger) -> Small:
    """Return the small tables of a ledger, each as rows by number."""
    return Small(*({row[0]: row for row in ledger.small[table.name]} for table in SMALL))


def as_rows(table: Table, content: Any) -> Iterator[Any]:
    """Yield the rows of an Arrow table that has the columns of `table`, in any order."""
    row = row_type(table)
    columns = [_values(content.column(column.name)) for column in table.columns]
    return (row(*values) for values in zip(*columns, strict=True))


def _values(column: Any) -> list[Any]:
    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    # A text once, however many rows name it.
    found: list[Any] = []
    for chunk in column.chunks:
        texts = chunk.dictionary.to_pylist()
        found += [None if index is None else texts[index] for index in chunk.indices.to_pylist()]
    return found


def row_type(table: Table) -> Any:
    """Return the NamedTuple of a table."""
    return getattr(row_types, table.name.capitalize())


def _bytes(files: Any, path: str, where: str) -> bytes:
    try:
        return small_file(files, path)
    except OSError as error:
        raise UsageError(f"{where}: no {INFO} that can be read, so it is no ledger ({said(error)})") from error


def _listed(files: Any, root: str, table: Table, where: str) -> list[str]:
    """Return what there is by the name of a part. What begins with a dot is still being written, or was left by a
    writer that was killed."""
    try:
        found = names(files, f"{root}/{table.name}")
    except OSError as error:
        raise UsageError(
            f"{where}: the table {table.name} is missing; expected a folder of that name ({said(error)})"
        ) from error
    return sorted(f"{table.name}/{name}" for name in found if name.endswith(".parquet") and name[0] not in "._")


def _small(files: Any, root: str, table: Table, where: str, info: LedgerInfo) -> tuple[Any, ...]:
    file = small_name(table)
    if not is_file(files, f"{root}/{file}"):
        raise UsageError(f"{where}: the table {table.name} is missing; expected {file}")
    try:
        with files.open_input_file(f"{root}/{file}") as stream:
            metadata = checked_footer(stream)
        _agree(table, metadata.schema.to_arrow_schema(), f"{where}/{file}", info)
        see_size(table, metadata.num_rows, f"{where}/{file}")
        return tuple(as_rows(table, read_table(f"{root}/{file}", files, text_once=True)))
    except UNREADABLE as error:
        raise UsageError(f"{where}: {file} cannot be read, and nothing means anything without it: {said(error)}") from (
            error
        )


def _part(files: Any, root: str, table: Table, file: str, where: str, info: LedgerInfo) -> Part | BadPart:
    path = f"{root}/{file}"
    if not is_file(files, path):
        return BadPart(table.name, file, "is no regular file; expected a part")
    try:
        with files.open_input_file(path) as stream:
            metadata = checked_footer(stream)
            size = stream.size()
    except UNREADABLE as error:
        return BadPart(table.name, file, f"is no whole Parquet file: {said(error)}")
    _agree(table, metadata.schema.to_arrow_schema(), f"{where}/{file}", info)
    if beyond := _beyond(table, metadata):
        return BadPart(table.name, file, beyond)
    times = _extremes(metadata, "t") if "t" in metadata.schema.names else (None, None)
    return Part(table.name, file, metadata.num_rows, size, metadata.num_row_groups, *times)


def _beyond(table: Table, metadata: Any) -> str:
    """Return what lies outside of a column's bounds, where a bucket would be taken for another; "" where nothing
    does."""
    for column in table.columns:
        if column.below is None or not metadata.num_rows:
            continue
        least, most = _extremes(metadata, column.name)
        if least is None or most is None:
            return f"says nothing about the greatest {column.name} of its row groups; expected statistics"
        if least < 0 or most >= column.below:
            wrong = least if least < 0 else most
            return f"{column.name} {wrong} is out of bounds; expected 0 to {column.below - 1}"
    return ""


def _extremes(metadata: Any, name: str) -> tuple[int | None, int | None]:
    """Return the least and the greatest value of a column, from the statistics of all row groups."""
    place = metadata.schema.names.index(name)
    groups = [metadata.row_group(number).column(place) for number in range(metadata.num_row_groups)]
    known = [group.statistics for group in groups if group.is_stats_set and group.statistics.has_min_max]
    if len(known) < len(groups) or not known:
        return None, None
    return min(int(one.min) for one in known), max(int(one.max) for one in known)


def _agree(table: Table, found: Any, where: str, info: LedgerInfo) -> None:
    """UsageError when a file is not of this table in the version of the ledger."""
    version = (found.metadata or {}).get(VERSION_KEY, b"none").decode("utf-8", "replace")
    if version != info.schema:
        raise UsageError(
            f"{where}: written in schema {version}, while the ledger is of {info.schema}; "
            "a ledger is of one version: write it again with one assay"
        )
    types = {field.name: field.type for field in found}
    expected = {field.name: field.type for field in schema(table)}
    if missing := [name for name in expected if name not in types]:
        raise UsageError(f"{where}: no column {', '.join(missing)}; the table {table.name} has {', '.join(expected)}")
    if unknown := [name for name in types if name not in expected]:
        raise UsageError(f"{where}: unknown column {', '.join(unknown)}; the table {table.name} has none of that name")
    if wrong := [name for name, kind in expected.items() if types[name] != kind]:
        differences = ", ".join(f"{name} is {types[name]}, expected {expected[name]}" for name in wrong)
        raise UsageError(f"{where}: {differences}")
