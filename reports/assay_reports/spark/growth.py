"""The query of a watcher: rows of a ledger that grows, folded into the words of their buckets and the counts of their
seconds.

Both are kept in one state by era, so that old ones are let go: `what` tells them apart.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, Final

from assay_conformance.ledger.clauses import GIVEN
from assay_conformance.ledger.collection import Counted
from assay_conformance.ledger.tables import NONE, Table
from assay_conformance.ledger.words import ALL, BUCKET_BITS, EMPTY, Bucket, Folded, Merge
from assay_reports.ledgers.opening import Ledger
from assay_reports.spark import screen, views
from assay_reports.spark.alarms import LIVE_WORDS, TABLES, Update
from assay_reports.spark.flows import Heard

ERA_US: Final = 600_000_000
BEGIN_US: Final = 86_400_000_000
"""The run's zero as Spark has it: what lies at 1970 is too late for a watermark that has not moved yet."""

BUCKETS: Final = ""
"""What the rows of buckets count as; others are those of a second."""


def all_rows(reader: Any, ledger: Ledger) -> Any:
    found = [_rows(reader, ledger, table) for table in TABLES]
    return reduce(lambda one, other: one.union(other), found)


def folded(rows: Any) -> Any:
    from pyspark.sql import functions

    aggregates = [functions.expr(_merged(word)).alias(word.name) for word in LIVE_WORDS]
    return rows.groupBy("era", "what", "sub", "stream", "b").agg(functions.expr("sum(n)").alias("n"), *aggregates)


def _rows(reader: Any, ledger: Ledger, table: Table) -> Any:
    """Return the rows of a table, each with the words it adds to its bucket, those of other tables empty; and once more
    as one of its second, where `b` is that."""
    columns = ", ".join(f"{column.name} {views.TYPES[column.kind]}" for column in table.columns)
    # A part that cannot be read is named when its rows are asked for, or its footer; the others are watched. Only here:
    # the verdict at the end passes over none.
    reader = reader.schema(columns).option("ignoreCorruptFiles", "true")
    rows = reader.parquet(views.location(ledger.where, table.name))
    no_consumer, what = f"cast({NONE} as smallint)", screen.counted(table.name)
    given = table.name in GIVEN
    words = {word.name: _added(word) if word.table == table.name else _nothing(word) for word in LIVE_WORDS}
    bucket = {"what": f"'{BUCKETS}'", "sub": "sub" if given else no_consumer, "stream": "stream", "n": "0L", **words}
    empty = {word.name: _nothing(word) for word in LIVE_WORDS}
    second = {**bucket, "what": what[0], "stream": str(NONE) if given else "stream", "n": "1L", **empty}
    both = ((f"shiftright(seq, {BUCKET_BITS})", bucket), (f"cast({screen.SECOND} as bigint)", second))
    of_bucket, of_second = (_struct({"b": b, **fields}) for b, fields in both)
    inlined = f"inline(if({what[1]}, array({of_bucket}, {of_second}), array({of_bucket})))"
    return rows.selectExpr(f"timestamp_micros(t - pmod(t, {ERA_US}L) + {BEGIN_US}L) era", inlined)


def _struct(fields: dict[str, str]) -> str:
    named = ", ".join(f"'{name}', {text}" for name, text in fields.items())
    return f"named_struct({named})"


def _added(word: Folded) -> str:
    value = f"cast({word.value} as bigint)"
    return value if word.where == ALL else f"if({word.where}, {value}, {_nothing(word)})"


def _nothing(word: Folded) -> str:
    # An extreme of nothing is no row's.
    return "cast(null as bigint)" if word.merge in (Merge.MIN, Merge.MAX) else f"{getattr(EMPTY, word.name)}L"


def _merged(word: Folded) -> str:
    return f"coalesce({word.merge.value}({word.name}), {getattr(EMPTY, word.name)}L)"


def update_of(row: dict[str, Any]) -> Update:
    words = EMPTY._replace(**{word.name: row[word.name] for word in LIVE_WORDS})
    return Update(int(row["era"].timestamp()), Bucket(row["sub"], row["stream"], row["b"]), words)


def heard_of(row: dict[str, Any]) -> Heard:
    return Heard(Counted(row["what"]), row["stream"] if row["sub"] == NONE else row["sub"], row["b"], row["n"])
