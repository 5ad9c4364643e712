"""Rows of flagged buckets, out of the parts of a ledger: only the row groups that can hold any are read.

A bucket is read whole, and with it the message before and the one after, which a finding tells of. Everything that is
said of a message therefore comes along, whichever part it lies in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from assay_conformance.ledger.collection import Rows
from assay_conformance.ledger.tables import PARTS, Table
from assay_conformance.ledger.words import BUCKET_BITS
from assay_reports.ledgers.opening import DAMAGED, BadPart, Ledger, Part, as_rows
from assay_reports.ledgers.parquet import UNREADABLE, open_parquet

MESSAGES = 1 << BUCKET_BITS


class Ranges(NamedTuple):
    """`first[i]` up to, not with, `end[i]` of stream `stream[i]`; sorted, and apart from each other."""

    stream: Any
    first: Any
    end: Any

    def of(self, number: int) -> tuple[Any, Any]:
        begin = np.searchsorted(self.stream, number)
        end = np.searchsorted(self.stream, number, "right")
        return self.first[begin:end], self.end[begin:end]


class Picked(NamedTuple):
    """`read` and `groups`: row groups that were read, of how many; `bad`: parts that cannot be. Not `whole`: there are
    more rows than were allowed, and what is here proves nothing, for what it seems to lack may be among the others."""

    rows: Rows
    read: int
    groups: int
    bad: tuple[BadPart, ...] = ()
    whole: bool = True


def shares(needs: Mapping[str, int], room: int) -> dict[str, int]:
    """Return how many rows of the room each gets: all it needs, or an equal share of what the others leave.

    What one does not need goes to those that need more. Each that needs any gets one at least, room or not.
    """
    got: dict[str, int] = {}
    for place, (need, name) in enumerate(sorted((need, name) for name, need in needs.items())):
        equal = (room - sum(got.values())) // (len(needs) - place)
        got[name] = min(need, max(1, equal))
    return got


def ranges(buckets: Iterable[tuple[int, int]]) -> Ranges:
    """Return what to read for these (stream, b): each with one message on either side; what touches is one range."""
    pairs = sorted(set(buckets))
    stream = np.array([stream for stream, _ in pairs], np.int64)
    first = np.array([b * MESSAGES - 1 for _, b in pairs], np.int64)
    end = first + MESSAGES + 2
    apart: Any = np.ones(len(pairs), bool)
    apart[1:] = (stream[1:] != stream[:-1]) | (first[1:] > end[:-1])
    last = np.roll(apart, -1) if len(pairs) else apart
    return Ranges(stream[apart], first[apart], end[last])


def pick(ledger: Ledger, wanted: Ranges, most_rows: int | None, bad: Iterable[BadPart] = ()) -> Picked:
    """Return the rows of every table that lie in `wanted`, without those of `bad` parts; none when they are more than
    `most_rows`."""
    left_out, damaged = {part.file for part in bad}, list[BadPart]()
    found: list[tuple[Any, ...]] = []
    read = groups = rows = 0
    for table in PARTS:
        content: list[Any] = []
        for part in ledger.parts[table.name]:
            if part.file in left_out:
                continue
            groups += part.groups
            try:
                pieces = list(_of_part(ledger, table, part, wanted))
            except UNREADABLE:
                damaged.append(BadPart(table.name, part.file, DAMAGED))
                continue
            read += len(pieces)
            content += pieces
            rows += sum(piece.num_rows for piece in pieces)
            if most_rows is not None and rows > most_rows:
                return Picked(Rows(), read, groups, tuple(damaged), whole=False)
        found.append(tuple(as_rows(table, pa.concat_tables(content))) if content else ())
    return Picked(Rows(*found), read, groups, tuple(damaged))


def _of_part(ledger: Ledger, table: Table, part: Part, wanted: Ranges) -> Iterator[Any]:
    if not len(wanted.stream):
        return
    with ledger.files.open_input_file(f"{ledger.root}/{part.file}") as stream:
        file = open_parquet(stream)
        places = {file.metadata.schema.column(place).name: place for place in range(file.metadata.num_columns)}
        for group in range(file.metadata.num_row_groups):
            if may_hold(file.metadata.row_group(group), places, wanted):
                content = file.read_row_group(group, columns=[column.name for column in table.columns])
                yield content.take(pa.array(_inside(content, wanted)))


def may_hold(group: Any, places: Mapping[str, int], wanted: Ranges) -> bool:
    """Return whether a row group can hold wanted rows, by its statistics; `places`: column -> number in the file."""
    streams, seqs = (group.column(places[name]).statistics for name in ("stream", "seq"))
    if streams is None or seqs is None or not (streams.has_min_max and seqs.has_min_max):
        return True
    held = (streams.min <= wanted.stream) & (wanted.stream <= streams.max)
    return bool(np.any(held & (wanted.end > seqs.min) & (wanted.first <= seqs.max)))


def _inside(content: Any, wanted: Ranges) -> Any:
    """Numbers of the rows that are wanted."""
    stream, seq = content.column("stream").to_numpy(), content.column("seq").to_numpy()
    found = []
    for number in np.intersect1d(stream, wanted.stream):
        first, end = wanted.of(number)
        here: Any = np.flatnonzero(stream == number)
        place: Any = np.searchsorted(end, seq[here], "right")
        inside: Any = place < len(end)
        inside[inside] = first[place[inside]] <= seq[here][inside]
        found.append(here[inside])
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)
