"""What Spark sees of a ledger: its parts as tables, and the small tables that every task holds whole."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay_conformance.ledger.clauses import Restart, Scope
from assay_conformance.ledger.collection import Small
from assay_conformance.ledger.info import LedgerInfo
from assay_conformance.ledger.tables import NONE, Kind, Table
from assay_reports.ledgers.opening import BadPart, Ledger
from assay_reports.spark.screen import REACH, SCOPES, STREAMS

TYPES = {Kind.I8: "byte", Kind.I16: "short", Kind.I32: "int", Kind.I64: "long", Kind.TEXT: "string"}
RAW = "raw_"


def location(where: str, file: str = "") -> str:
    """Return a place under `where` that Spark reads: not a pattern, on this machine unless it says otherwise."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", target(where, file))


def target(where: str, file: str = "") -> str:
    """Return a place under `where` that Spark writes: no pattern could stand there."""
    if "://" in where:
        scheme, _, rest = where.rstrip("/").partition("://")
        # What everybody calls s3 has another name in Hadoop.
        base = f"{'s3a' if scheme == 's3' else scheme}://{rest}"
    else:
        base = f"file:{Path(where).absolute()}"
    return f"{base}/{file}" if file else base


def read(session: Any, table: Table, paths: Iterable[str]) -> Any:
    """Return a DataFrame of a table's rows; of no rows without paths."""
    described = ", ".join(f"{column.name} {TYPES[column.kind]}" for column in table.columns)
    named = list(paths)
    return whole(session).schema(described).parquet(*named) if named else session.createDataFrame([], described)


def whole(session: Any) -> Any:
    """Return a reader that passes over no file, damaged or missing, whatever the session's settings are."""
    return session.read.options(ignoreCorruptFiles="false", ignoreMissingFiles="false")


def show_small(session: Any, small: Small, info: LedgerInfo, acking: Iterable[int]) -> None:
    """Make the views `reach`, `scopes` and `streams`; `acking` as for `Small.scopes`."""
    scopes = small.scopes(info, acking)
    subs: dict[int, list[int]] = {stream: [] for stream in small.streams}
    for sub, stream in scopes:
        if sub != NONE:
            subs[stream].append(sub)
    reach = [
        pair
        for stream, of in subs.items()
        for sub in (of or [NONE])
        for pair in {(NONE, stream, sub), (sub, stream, sub)}
    ]
    show(session, REACH, {"sub": pa.int16(), "stream": pa.int32(), "reached": pa.int16()}, reach)
    restarts = pa.list_(pa.struct([(name, pa.int64()) for name in Restart._fields]))
    fields = {name: restarts if name == "restarts" else pa.int64() for name in Scope._fields}
    rows = [
        (
            sub,
            stream,
            int(sub == (of or [NONE])[0]),
            *_plain(scopes[sub, stream]).values(),
            _plain(scopes[NONE, stream]),
        )
        for stream, of in subs.items()
        for sub in (of or [NONE])
    ]
    kinds = {"of_sub": pa.int16(), "of_stream": pa.int32(), "once": pa.int32(), **fields}
    show(session, SCOPES, {**kinds, "by_stream": pa.struct(list(fields.items()))}, rows)
    show_streams(session, small)


def _plain(scope: Scope) -> dict[str, Any]:
    return {**scope._asdict(), "restarts": [one._asdict() for one in scope.restarts]}


def show_streams(session: Any, small: Small) -> None:
    kinds = {"stream": pa.int32(), "topic": pa.int32()}
    show(session, STREAMS, kinds, [(row.stream, row.topic) for row in small.streams.values()])


def show(session: Any, name: str, kinds: dict[str, Any], rows: list[tuple[Any, ...]]) -> None:
    columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
    arrays = [pa.array(list(values), kind) for values, kind in zip(columns, kinds.values(), strict=True)]
    session.createDataFrame(pa.table(arrays, names=list(kinds))).createOrReplaceTempView(name)


def show_rows(session: Any, ledger: Ledger, tables: Iterable[Table], bad: Iterable[BadPart] = ()) -> None:
    """Make views `raw_<table>` of all rows that can be read."""
    left_out = {part.file for part in bad}
    for table in tables:
        parts = [part for part in ledger.parts[table.name] if part.file not in left_out]
        paths = [location(ledger.where, part.file) for part in parts]
        read(session, table, paths).createOrReplaceTempView(f"{RAW}{table.name}")
