"""A run watched while it goes on: one streaming query keeps the words of buckets, and the rulebook looks into some.

Spark reads parts as they land, folds them into words and counts that it keeps (`bit_or` and the like, on disk), and
delivers the buckets and seconds that changed. What calls for a look is `alarms.Watching`'s to say, and
deadlines run by the clock on the wall, not by batches. A look reads the bucket's rows from the parts and asks the same
rules as `assay reconcile`. Each breach is said once, also by a watcher that is started again: what was said is kept
beside the query's checkpoint.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from assay_conformance.ledger.clauses import LOST
from assay_conformance.ledger.collection import Counted, Rows, Second, Sums
from assay_conformance.ledger.judge import judged
from assay_conformance.ledger.lives import Evidence
from assay_conformance.ledger.words import BUCKET_BITS
from assay_conformance.model.errors import HarnessError, UsageError
from assay_reports import within
from assay_reports.bounds import LEDGER_BEGINS_S
from assay_reports.files import read_bytes, writing
from assay_reports.ledgers.opening import Ledger, is_begun, open_ledger, smalls
from assay_reports.spark.alarms import OF_WHAT_IS_NOT_THERE, Alarm, Look, Watching
from assay_reports.spark.flows import Flows
from assay_reports.spark.fold_cache import FoldCache
from assay_reports.spark.growth import BEGIN_US, BUCKETS, all_rows, folded, heard_of, update_of
from assay_reports.spark.reconcile import end_us

FOLDER: Final = "watch"
LOG: Final = "alarms.jsonl"
TRIGGER: Final = "500 milliseconds"
TICK_S: Final = 0.2
_LET_GO_AFTER: Final = "40 minutes"
_LET_GO_US: Final = 40 * 60 * 1_000_000
_MOST_LOOKS: Final = 200
_MOST_ROWS: Final = 200_000
_ASK_S: Final = 1.0

CONF: Final = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.metricsEnabled": "false",
}
"""Spark settings of a watcher's session."""

Said = Callable[[Alarm], None]


class Watch:
    """Of one ledger, in one session. `say` hears of each breach once, `note` of each part that cannot be read."""

    def __init__(self, session: Any, ledger: Ledger, say: Said, note: Callable[[str], None] = lambda _: None) -> None:
        self._session = session
        self._shelf = FoldCache(ledger)
        self._say = say
        self._note = note
        self._noted: set[str] = set()
        self._folder = _folder(ledger)
        said = _read(self._folder / LOG)
        self.said: dict[tuple[str, int, int, int, int], Alarm] = {alarm.key: alarm for alarm in said}
        self._watching = Watching(ledger.info)
        self._flows = Flows(ledger.info)
        self._lock = threading.Lock()
        self._asked_s = time.monotonic()
        self.batches = 0
        self.most_open = 0
        self.most_seconds = 0

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Watch until the run has ended and everything of it was seen, or until `until` says so.

        Raises HarnessError when the query ends by itself.
        """
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
        words = folded(all_rows(self._session.readStream, self._shelf.ledger).withWatermark("era", _LET_GO_AFTER))
        return (
            words.writeStream.outputMode("update")
            .option("checkpointLocation", str(checkpoint))
            .trigger(processingTime=TRIGGER)
            .foreachBatch(self._take)
            .start()
        )

    def _remember(self) -> None:
        """Read what was open before from the rows, once: a query that goes on reports only what changes."""
        since_us = _now_us(self._shelf.ledger) - _LET_GO_US + BEGIN_US
        rows = all_rows(self._session.read, self._shelf.ledger).where(f"unix_micros(era) >= {since_us}")
        self._take(folded(rows), -1)

    # --- the query's turn ---

    def _take(self, changed: Any, _batch: int) -> None:
        rows = changed.toArrow().to_pylist()
        updates = [update_of(row) for row in rows if row["what"] == BUCKETS]
        heard = [heard_of(row) for row in rows if row["what"] != BUCKETS]
        with self._lock:
            self._flows.take(heard)
            self.most_seconds = max(self.most_seconds, self._flows.kept)
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
        if looks:
            looked, alarms = self._looked(looks, given)
            self._report(alarms)
            with self._lock:
                for look in looked:
                    self._watching.looked(look, now_s)

    def _report(self, alarms: Iterable[Alarm]) -> None:
        for alarm in alarms:
            doubtful = self._shelf.bad and alarm.requirement in OF_WHAT_IS_NOT_THERE
            if alarm.key not in self.said and not doubtful:
                self.said[alarm.key] = alarm
                _append(self._folder, alarm)
                self._say(alarm)

    def _picked(self, looks: Sequence[Look]) -> tuple[Sequence[Look], Rows]:
        """Return the first of them, as many as there is room for, and the rows of their buckets."""
        while True:
            buckets = {(look.bucket.stream, look.bucket.b) for look in looks}
            picked = self._shelf.pick(buckets, _MOST_ROWS if len(looks) > 1 else None)
            if picked.whole:
                return looks, picked.rows
            looks = looks[: len(looks) // 2]

    def _looked(self, looks: Sequence[Look], given: dict[tuple[int, int], int]) -> tuple[Sequence[Look], list[Alarm]]:
        """Return what the rules say of these buckets, as far as it is what they were looked into for; and which of them
        these are, for the others stay due."""
        with self._lock:
            self._rename()
            small, info = smalls(self._shelf.ledger), self._shelf.ledger.info
            series, landed_us = self._flows.series(small), end_us(self._shelf.ledger)
        looks, rows = self._picked(looks)
        now_us = _now_us(self._shelf.ledger)
        # The run goes on and sends are in flight: only what was overtaken is missing.
        going_on = tuple(Second(Counted.SENT, topic, now_us // 1_000_000, 1) for topic in small.topics)
        sums = Sums({}, series=(*series, *going_on), end_us=now_us, last_given=given)
        # What has not come again may have, as long as no later rows have landed.
        landed = sums._replace(end_us=landed_us)
        found = []
        for known, mine in (
            (sums, [look for look in looks if look.requirement == LOST]),
            (landed, [look for look in looks if look.requirement != LOST]),
        ):
            wanted = {(look.requirement, look.bucket.stream, look.bucket.b) for look in mine}
            for rule in judged(Evidence(rows, small, info, known)) if mine else ():
                for breach in rule.known:
                    if (rule.requirement, breach.stream, breach.seq >> BUCKET_BITS) in wanted:
                        found.append(Alarm(rule.requirement, breach.sub, breach.stream, breach.seq, breach.sentence))
        return looks, found

    def _rename(self) -> None:
        self._shelf.look()
        ledger = self._shelf.ledger
        small = smalls(ledger)
        # No row that a writer holds counts as missing before the writer has ended.
        left = {one.sub for one in small.consumers.values() if one.t_to is not None}
        self._watching.name(small.scopes(ledger.info, left), time.monotonic())

    def _ended(self) -> bool:
        """Return whether the run has ended, and every part of its ledger is closed."""
        now_s = time.monotonic()
        if now_s - self._asked_s < _ASK_S:
            return False
        self._asked_s = now_s
        with self._lock:
            self._rename()
            flows = list(self._flows.alarms(smalls(self._shelf.ledger), now_s))
        self._report(flows)
        self._name_bad()
        return self._shelf.ledger.info.ended_unix_ms is not None

    def _name_bad(self) -> None:
        for part in self._shelf.bad:
            if part.file not in self._noted:
                self._noted.add(part.file)
                self._note(f"{part}; what seems missing since is not reported until the end")


def _now_us(ledger: Ledger) -> int:
    """By the run's clock, as well as the wall's tells it."""
    return time.time_ns() // 1000 - ledger.info.started_unix_ms * 1000


# --- files -----------------------------------------------------------------------------------------------------------


def _folder(ledger: Ledger) -> Path:
    if "://" in ledger.where:
        raise UsageError(f"{ledger.where}: a run is watched on the machine it is on; expected a folder")
    folder = Path(ledger.where).absolute() / FOLDER
    with writing(folder, "a folder for what is said"):
        folder.mkdir(exist_ok=True)
    return folder


def _read(log: Path) -> list[Alarm]:
    """Return the alarms of the log, without a last line that a killed watcher did not finish."""
    found = []
    for line in read_bytes(log, "what a watcher said").splitlines() if os.path.lexists(log) else ():
        with contextlib.suppress(msgspec.DecodeError):
            found.append(msgspec.json.decode(line, type=Alarm))
    return found


def _append(folder: Path, alarm: Alarm) -> None:
    with writing(folder / LOG), within.append(folder.parent, f"{folder.name}/{LOG}") as file:
        file.write(msgspec.json.encode(alarm) + b"\n")


def await_ledger(where: str, within_s: float, report: Callable[[str], None]) -> Ledger:
    """Return the ledger, once it exists; UsageError if it does not appear in time. `report` is called once with the
    reason why there is none yet."""
    until_s = time.monotonic() + within_s
    said = begun = False
    while True:
        try:
            return open_ledger(where)
        except UsageError as error:
            if not begun and is_begun(where):
                # Whoever writes ledger.json has the rest there a moment later; what is still wrong then stays wrong.
                begun, until_s = True, min(until_s, time.monotonic() + LEDGER_BEGINS_S)
            if time.monotonic() > until_s:
                raise
            if not said:
                report(str(error))
                said = True
            time.sleep(TICK_S)
