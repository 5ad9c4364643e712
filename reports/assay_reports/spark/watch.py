"""A run watched while it goes on: one streaming query keeps the words of buckets, and the rulebook looks into some.

Spark reads parts as they land, folds them into words that it keeps (`bit_or` and the like, on disk, by era so that old
ones are let go), and hands over the buckets that changed. What calls for a look is `alarms.Watching`'s to say, and
deadlines run by the clock on the wall, not by batches. A look reads the bucket's rows from the parts and asks the same
rules as `assay reconcile`. Each breach is said once, also by a watcher that is started again: what was said is kept
beside the query's checkpoint.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final

import msgspec

from assay_conformance.ledger.clauses import GIVEN
from assay_conformance.ledger.collection import Counted, Second, Sums
from assay_conformance.ledger.judge import judged
from assay_conformance.ledger.lives import Evidence
from assay_conformance.ledger.tables import NONE, Table
from assay_conformance.ledger.words import ALL, BUCKET_BITS, EMPTY, Bucket, Folded, Merge, Words
from assay_conformance.model.errors import HarnessError, UsageError
from assay_reports.ledgers.opening import Ledger, is_begun, open_ledger, smalls
from assay_reports.spark import views
from assay_reports.spark.alarms import LIVE_WORDS, TABLES, Alarm, Look, Update, Watching
from assay_reports.spark.shelf import Shelf

FOLDER: Final = "watch"
TRIGGER: Final = "500 milliseconds"
TICK_S: Final = 0.2
BEGINS_WITHIN_S: Final = 5.0
ERA_US: Final = 600_000_000
_LET_GO_AFTER: Final = "40 minutes"
_LET_GO_US: Final = 40 * 60 * 1_000_000
_BEGIN_US: Final = 86_400_000_000
"""The run's zero as Spark has it: what lies at 1970 is too late for a watermark that has not moved yet."""
_MOST_LOOKS: Final = 200
_MOST_ROWS: Final = 200_000
_ASK_S: Final = 2.0

CONF: Final = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.metricsEnabled": "false",
}
"""What the session of a watcher has to be told."""

Said = Callable[[Alarm], None]


class Watch:
    """Of one ledger, in one session. `say` hears of each breach once."""

    def __init__(self, session: Any, ledger: Ledger, say: Said) -> None:
        self._session = session
        self._shelf = Shelf(ledger)
        self._say = say
        self._folder = _folder(ledger)
        self._log = self._folder / "alarms.jsonl"
        self.said: dict[tuple[str, int, int, int], Alarm] = {alarm.key: alarm for alarm in _read(self._log)}
        self._watching = Watching(ledger.info)
        self._lock = threading.Lock()
        self._asked_s = time.monotonic()
        self.batches = 0
        self.most_open = 0

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Until the run has ended and everything of it was seen, or `until` says so. HarnessError when the query ends
        by itself."""
        query = self._start()
        try:
            while not until():
                time.sleep(TICK_S)
                if query.exception() is not None:
                    raise HarnessError(f"the query that watches has ended: {str(query.exception())[:300]}")
                self._tick()
                if self._ended():
                    query.processAllAvailable()
                    self._tick()
                    return
        finally:
            with contextlib.suppress(Exception):
                query.stop()

    def _start(self) -> Any:
        checkpoint = self._folder / "checkpoint"
        if checkpoint.exists():
            self._remember()
        words = _folded(_all_rows(self._session.readStream, self._shelf.ledger).withWatermark("era", _LET_GO_AFTER))
        return (
            words.writeStream.outputMode("update")
            .option("checkpointLocation", str(checkpoint))
            .trigger(processingTime=TRIGGER)
            .foreachBatch(self._take)
            .start()
        )

    def _remember(self) -> None:
        """A query that goes on tells of what changes. What was open before is read from the rows, once."""
        since_us = _now_us(self._shelf.ledger) - _LET_GO_US + _BEGIN_US
        rows = _all_rows(self._session.read, self._shelf.ledger).where(f"unix_micros(era) >= {since_us}")
        self._take(_folded(rows), -1)

    # --- the query's turn ---

    def _take(self, changed: Any, _batch: int) -> None:
        rows = changed.toArrow().to_pydict()
        updates = list(_updates(rows))
        with self._lock:
            if any(not self._watching.knows(update.bucket.stream) for update in updates):
                self._rename()
            self._watching.take(updates, time.monotonic())
            self.batches += 1
            self.most_open = max(self.most_open, self._watching.open)

    # --- the clock's turn ---

    def _tick(self) -> None:
        now_s = time.monotonic()
        with self._lock:
            looks = self._watching.due(now_s)[:_MOST_LOOKS]
            given = dict(self._watching.given)
        if not looks:
            return
        for alarm in self._looked(looks, given):
            if alarm.key not in self.said:
                self.said[alarm.key] = alarm
                _append(self._log, alarm)
                self._say(alarm)
        with self._lock:
            for look in looks:
                self._watching.looked(look, now_s)

    def _looked(self, looks: Sequence[Look], given: dict[tuple[int, int], int]) -> Iterator[Alarm]:
        """What the rules say of these buckets, as far as it is what they were looked into for."""
        with self._lock:
            self._rename()
        small, info = smalls(self._shelf.ledger), self._shelf.ledger.info
        rows = self._shelf.rows({(look.bucket.stream, look.bucket.b) for look in looks}, _MOST_ROWS)
        now_us = _now_us(self._shelf.ledger)
        # The run goes on: somebody has just sent something, so nothing is missing that nobody has overtaken.
        going_on = tuple(Second(Counted.SENT, topic, now_us // 1_000_000, 1) for topic in small.topics)
        sums = Sums({}, series=going_on, end_us=now_us, last_given=given)
        wanted = {(look.requirement, look.bucket.stream, look.bucket.b) for look in looks}
        for rule in judged(Evidence(rows, small, info, sums)):
            for breach in rule.breaches:
                if (rule.requirement, breach.stream, breach.seq >> BUCKET_BITS) in wanted:
                    yield Alarm(rule.requirement, breach.sub, breach.stream, breach.seq, breach.sentence)

    def _rename(self) -> None:
        self._shelf.look()
        ledger = self._shelf.ledger
        self._watching.name(smalls(ledger).scopes(ledger.info, ()))

    def _ended(self) -> bool:
        """The run has, and every part of its ledger is closed."""
        now_s = time.monotonic()
        if now_s - self._asked_s < _ASK_S:
            return False
        self._asked_s = now_s
        with self._lock:
            self._shelf.look()
            return self._shelf.ledger.info.ended_unix_ms is not None


# --- the query -------------------------------------------------------------------------------------------------------


def _all_rows(reader: Any, ledger: Ledger) -> Any:
    found = [_rows(reader, ledger, table) for table in TABLES]
    return reduce(lambda one, other: one.union(other), found)


def _folded(rows: Any) -> Any:
    from pyspark.sql import functions

    aggregates = (functions.expr(_merged(word)).alias(word.name) for word in LIVE_WORDS)
    return rows.groupBy("era", "sub", "stream", "b").agg(*aggregates)


def _rows(reader: Any, ledger: Ledger, table: Table) -> Any:
    """The rows of a table, each with the words it adds: those of other tables are empty."""
    columns = ", ".join(f"{column.name} {views.TYPES[column.kind]}" for column in table.columns)
    rows = reader.schema(columns).parquet(views.location(ledger.where, table.name))
    sub = "sub" if table.name in GIVEN else f"cast({NONE} as smallint) sub"
    era = f"timestamp_micros(t - pmod(t, {ERA_US}L) + {_BEGIN_US}L) era"
    words = (_added(word) if word.table == table.name else _nothing(word) for word in LIVE_WORDS)
    named = (f"{text} {word.name}" for text, word in zip(words, LIVE_WORDS, strict=True))
    return rows.selectExpr(era, sub, "stream", f"seq >> {BUCKET_BITS} b", *named)


def _added(word: Folded) -> str:
    value = f"cast({word.value} as bigint)"
    return value if word.where == ALL else f"if({word.where}, {value}, {_nothing(word)})"


def _nothing(word: Folded) -> str:
    # An extreme of nothing is no row's.
    return "cast(null as bigint)" if word.merge in (Merge.MIN, Merge.MAX) else f"{getattr(EMPTY, word.name)}L"


def _merged(word: Folded) -> str:
    return f"coalesce({word.merge.value}({word.name}), {getattr(EMPTY, word.name)}L)"


def _updates(rows: dict[str, list[Any]]) -> Iterator[Update]:
    names = [word.name for word in LIVE_WORDS]
    for era, sub, stream, b, *values in zip(
        *(rows[name] for name in ("era", "sub", "stream", "b", *names)), strict=True
    ):
        words = EMPTY._replace(**dict(zip(names, values, strict=True)))
        yield Update(int(era.timestamp()), Bucket(sub, stream, b), Words(*words))


def _now_us(ledger: Ledger) -> int:
    """By the run's clock, as well as the wall's tells it."""
    return time.time_ns() // 1000 - ledger.info.started_unix_ms * 1000


# --- files -----------------------------------------------------------------------------------------------------------


def _folder(ledger: Ledger) -> Path:
    if "://" in ledger.where:
        raise UsageError(f"{ledger.where}: a run is watched on the machine it is on; expected a folder")
    folder = Path(ledger.where).absolute() / FOLDER
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: what was said cannot be kept there: {error.strerror}") from error
    return folder


def _read(log: Path) -> list[Alarm]:
    """A line that a killed watcher did not finish was not said."""
    found = []
    for line in log.read_bytes().splitlines() if log.exists() else ():
        with contextlib.suppress(msgspec.DecodeError):
            found.append(msgspec.json.decode(line, type=Alarm))
    return found


def _append(log: Path, alarm: Alarm) -> None:
    with log.open("ab", buffering=0) as file:
        file.write(msgspec.json.encode(alarm) + b"\n")


def await_ledger(where: str, within_s: float, told: Callable[[str], None]) -> Ledger:
    """The ledger, once somebody has begun it; UsageError when nobody does. `told` hears once why there is none yet."""
    until_s = time.monotonic() + within_s
    said = begun = False
    while True:
        try:
            return open_ledger(where)
        except UsageError as error:
            if not begun and is_begun(where):
                # Whoever writes ledger.json has the rest there a moment later; what is still wrong then stays wrong.
                begun, until_s = True, min(until_s, time.monotonic() + BEGINS_WITHIN_S)
            if time.monotonic() > until_s:
                raise
            if not said:
                told(str(error))
                said = True
            time.sleep(TICK_S)
