"""Logs into tables: names as numbers, certificates as the ingest computes them, bad rows counted and named."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay_conformance.ledger import rows
from assay_conformance.ledger.info import Acking, Acks, LedgerInfo, Order, Origin
from assay_conformance.ledger.tables import (
    ACK,
    ATTEMPT,
    DELIVERY,
    NONE,
    OUTCOME,
    TABLES,
    AckKind,
    Again,
    Integrity,
    Result,
)
from assay_conformance.model.errors import UsageError
from assay_conformance.model.run import BrokerInfo
from assay_conformance.model.schema import CURRENT, FileKind
from assay_conformance.model.topic_names import partition_name
from assay_reports.bounds import MOST_YEARS
from assay_reports.ledgers.ingest.certifying import Columns, Consumers, Streams
from assay_reports.ledgers.ingest.clocks import FirstSends
from assay_reports.ledgers.layout import NULL, PartWriter, create, write_info, write_smalls
from assay_reports.ledgers.mapping.logs import (
    BELOW_16,
    BELOW_31,
    batches,
    has,
    log_files,
    message_id,
    text,
    unix_us,
    whole,
)
from assay_reports.ledgers.mapping.map_file import Map, Received, Sent
from assay_reports.ledgers.mapping.values import BadRowError, Row, cut, shown

SENDERS, RECEIVERS = 0, 1
MAX_NAMED = 20
"""Bad rows that are named; the others are counted."""
_BELOW_SEQ = ATTEMPT.column("seq").below or 0
_YEAR_US = 365 * 86_400 * 1_000_000
_FAR_US = MOST_YEARS * _YEAR_US
_MOST_DIGITS = 20


@dataclass
class Mapped:
    """`bad`: rows that could not be used, `named` the first of them; `notes`: what else is to be known."""

    rows: dict[str, int] = field(default_factory=dict)
    bad: int = 0
    named: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def map_logs(
    described: Map, where: Path, ledger: Path, suite: str, doing: Callable[[str], object] = lambda _text: None
) -> Mapped:
    """Return the ledger of these logs. `where` is the map's own path; files are relative to it. `doing` gets what is
    read.

    UsageError for files that are not there or lack a column, and when no row can be used; then nothing is left.
    """
    work = _Mapping(described, where, ledger, suite, doing)
    try:
        work.sent()
        work.received()
        return work.finish()
    except BaseException:
        # Half a ledger would stand in the way of the next try.
        shutil.rmtree(ledger, ignore_errors=True)
        raise


class _Mapping:
    def __init__(self, described: Map, where: Path, ledger: Path, suite: str, doing: Callable[[str], object]) -> None:
        self._map, self._where, self._ledger, self._doing = described, where, ledger, doing
        self._zero_us = round(described.run.started.timestamp() * 1e6)
        self._streams: dict[tuple[str, str], int] = {}
        self._topics: dict[str, int] = {topic.name: number for number, topic in enumerate(described.topic)}
        self._keys: dict[str, int] = {}
        self._subs: dict[str, int] = {one.name: number for number, one in enumerate(described.subscription)}
        self._consumers: dict[tuple[str, str], rows.Consumer] = {}
        self._attempts: dict[tuple[int, int], int] = {}
        self._latest: dict[int, int] = {}
        self._past, self._heard = Consumers(), Streams()
        self._first_sends, self._early_us = FirstSends(), 0
        self._waiting: Columns | None = None
        self._positions: dict[int, int] = {}
        error_ms = described.run.clock_error_ms
        self._clock_error_us = NONE if error_ms is None else round(error_ms * 1000)
        self._unused = {SENDERS: 0, RECEIVERS: 0}
        self._backwards = 0
        self._without_crc = 0
        self._last_t = 0
        self.mapped = Mapped()
        self._info = _info(described, suite)
        create(ledger, self._info)
        self._parts = {
            table: PartWriter(ledger, TABLES[table], writer)
            for table, writer in ((ATTEMPT.name, 0), (OUTCOME.name, 0), (DELIVERY.name, 1), (ACK.name, 1))
        }

    # --- producers ---

    def sent(self) -> None:
        columns = _columns(self._map.sent)
        for found in self._usable(SENDERS, self._map.sent.files, columns, self._of_send):
            attempts = _stacked([attempt for attempt, _ in found], rows.Attempt)
            outcomes = _stacked([outcome for _, outcome in found], rows.Outcome)
            self._past.attempts(attempts)
            self._first_sends.take(attempts)
            self._parts[ATTEMPT.name].add(attempts)
            self._parts[OUTCOME.name].add(outcomes | {"ord": self._heard.outcomes(outcomes)})

    def _of_send(self, row: Row) -> tuple[rows.Attempt, rows.Outcome]:
        names = self._map.sent
        stream, seq = self._message(names, row)
        t = self._time(row, names.sent_at, names)
        told_at = t if names.told_at is None or _empty(row[names.told_at]) else self._time(row, names.told_at, names)
        code = self._code(text(row[names.outcome], names.outcome))
        ledger, entry, batch = _place(names, row)
        due = names.deliver_at is not None and not _empty(row[names.deliver_at])
        deliver_at = self._run_us(row, names.deliver_at or "", names) if due else NULL
        size = whole(row[names.size], names.size, BELOW_31) if names.size else 0
        attempt = self._latest_attempt(stream, seq)
        return (
            rows.Attempt(
                stream,
                seq,
                self._key(names, row),
                t,
                size,
                self._crc(names, row),
                attempt,
                deliver_at,
            ),
            rows.Outcome(stream, seq, ledger, entry, batch, told_at, code, attempt),
        )

    def _latest_attempt(self, stream: int, seq: int) -> int:
        """0 of a number that is greater than all before; the application sent one again that is not."""
        if seq > self._latest.get(stream, -1):
            self._latest[stream] = seq
            return 0
        self._attempts[stream, seq] = self._attempts.get((stream, seq), 0) + 1
        return self._attempts[stream, seq]

    def _code(self, word: str) -> Result:
        codes = self._map.sent.codes
        for result, words in ((Result.OK, codes.ok), (Result.FAIL, codes.failed), (Result.UNKNOWN, codes.unknown)):
            if word in words:
                return result
        raise BadRowError(f"{self._map.sent.outcome} is {shown(word)}, which sent.codes does not name")

    # --- consumers ---

    def received(self) -> None:
        columns = _columns(self._map.received)
        for found in self._usable(RECEIVERS, self._map.received.files, columns, self._of_delivery):
            deliveries = _stacked([delivery for delivery, _ in found], rows.Delivery)
            self._deliver(deliveries, [ack for _, acks in found for ack in acks])
        if self._waiting is not None:
            self._parts[ACK.name].add(self._waiting)

    def _deliver(self, deliveries: Columns, said: list[rows.Ack]) -> None:
        acks = _stacked(said, rows.Ack)
        self._early_us = max([self._early_us, *(early for _, early in self._first_sends.early_us(deliveries))])
        if self._waiting is not None:
            acks = {name: np.concatenate([self._waiting[name], acks[name]]) for name in acks}
        # What takes effect after this batch is reported with the next one.
        effect = np.where(acks["kind"] == AckKind.NACK, acks["t"], acks["t_done"])
        now = effect <= deliveries["t"].max()
        self._waiting = {name: values[~now] for name, values in acks.items()}
        acks = {name: values[now] for name, values in acks.items()}
        certified = self._past.deliveries(deliveries, acks)
        if self._map.received.redelivery_count is None:
            deliveries["redeliv"] = np.where(certified["again"] == Again.FIRST, 0, 1)
        self._parts[DELIVERY.name].add(deliveries | certified)
        self._parts[ACK.name].add(acks)

    def _of_delivery(self, row: Row) -> tuple[rows.Delivery, list[rows.Ack]]:
        names = self._map.received
        stream, seq = self._message(names, row)
        t = self._time(row, names.received_at, names)
        consumer = self._consumer(names, row, t)
        place = _place(names, row)
        count = names.redelivery_count
        redeliv = whole(row[count], count, BELOW_16) if count is not None else 0
        acks = [
            rows.Ack(
                consumer.sub, consumer.consumer, stream, seq, *place, kind, at, at if kind == AckKind.ACK else NULL
            )
            for column, kind in ((names.nacked_at, AckKind.NACK), (names.acked_at, AckKind.ACK))
            if column is not None and not _empty(row[column])
            for at in (self._time(row, column, names),)
        ]
        pos = self._positions.get(consumer.consumer, 0)
        self._positions[consumer.consumer] = pos + 1
        key = self._key(names, row)
        return (
            rows.Delivery(
                consumer.sub,
                consumer.consumer,
                pos,
                stream,
                seq,
                key,
                *place,
                redeliv,
                t,
                self._crc(names, row),
                wait=NULL,
                ok=Integrity.UNKNOWN,
            ),
            acks,
        )

    def _consumer(self, names: Received, row: Row, t: int) -> rows.Consumer:
        who = text(row[names.subscription], names.subscription), text(row[names.consumer], names.consumer)
        if who not in self._consumers:
            sub = self._subs.setdefault(who[0], len(self._subs))
            self._consumers[who] = rows.Consumer(len(self._consumers), sub, who[1], RECEIVERS, t, t)
        known = self._consumers[who]
        if known.t_to is not None and t < known.t_to:
            self._backwards += 1
        self._consumers[who] = known._replace(t_to=max(t, known.t_to or t))
        return known

    # --- both ---

    def _usable(
        self, writer: int, pattern: str, columns: Mapping[str, str], of: Callable[[Row], Any]
    ) -> Iterator[list[Any]]:
        """Yield what the good rows of each batch are."""
        files, seen = log_files(self._where.parent, pattern, str(self._where)), dict[str, None]()
        for path in files:
            self._doing(f"reading {path}")
            for batch in batches(path, columns):
                seen |= dict.fromkeys(batch.names)
                found = []
                for number, row in batch.rows:
                    try:
                        if isinstance(row, BadRowError):
                            raise row
                        found.append(of(row))
                    except BadRowError as error:
                        self.mapped.bad += 1
                        self._unused[writer] += 1
                        if len(self.mapped.named) < MAX_NAMED:
                            self.mapped.named.append(f"{path}: row {number}: {error}")
                if found:
                    yield found
        if seen:
            has(files[0], seen, columns)

    def _crc(self, names: Sent | Received, row: Row) -> int:
        """Return a number, in digits where the logs hold text; of any other digest its CRC."""
        if names.crc is None or _empty(row[names.crc]):
            self._without_crc += 1
            return 0
        value = row[names.crc]
        word = str(value)
        number = int(word) if word.isdecimal() and len(word) <= _MOST_DIGITS else zlib.crc32(word.encode())
        return int(np.uint32(number & 0xFFFF_FFFF).astype(np.int32))

    def _message(self, names: Sent | Received, row: Row) -> tuple[int, int]:
        topic = text(row[names.topic], names.topic)
        if names.partition is not None and not _empty(row[names.partition]):
            topic = partition_name(topic, whole(row[names.partition], names.partition, BELOW_31))
        seq = whole(row[names.number], names.number, _BELOW_SEQ)
        self._topics.setdefault(topic, len(self._topics))
        stream = (text(row[names.producer], names.producer), topic)
        return self._streams.setdefault(stream, len(self._streams)), seq

    def _key(self, names: Sent | Received, row: Row) -> int:
        if names.key is None or _empty(row[names.key]):
            return NONE
        return self._keys.setdefault(str(row[names.key]), len(self._keys))

    def _time(self, row: Row, column: str, names: Sent | Received) -> int:
        """When something was done: the run lasts until then."""
        t = self._run_us(row, column, names)
        self._last_t = max(self._last_t, t)
        return t

    def _run_us(self, row: Row, column: str, names: Sent | Received) -> int:
        t = unix_us(row[column], column, names.unit) - self._zero_us
        if abs(t) > _FAR_US:
            raise BadRowError(
                f"{column} is {cut(str(row[column]))}, {_years(t)} years from run.started if its unit is {names.unit}"
            )
        return t

    def finish(self) -> Mapped:
        for parts in self._parts.values():
            parts.close()
        self.mapped.rows = {table: parts.rows for table, parts in self._parts.items()}
        if not any(self.mapped.rows.values()):
            first = f"; the first one: {self.mapped.named[0]}" if self.mapped.named else ""
            raise UsageError(f"{self._where}: none of the rows that it names can be used{first}")
        self._see_clocks()
        write_smalls(self._ledger, self._small())
        ended = self._info.started_unix_ms + self._last_t // 1000 + self._info.grace_us // 1000
        info = msgspec.structs.replace(self._info, ended_unix_ms=ended)
        if self._backwards:
            info = msgspec.structs.replace(info, order=Order.NONE)
            self.mapped.notes.append(
                f"{self._backwards} rows of consumers stand behind later ones, so order is not judged: logs have to be "
                "in the order in which each consumer got its messages"
            )
        if self._without_crc:
            info = msgspec.structs.replace(info, checksums=False)
            self.mapped.notes.append(
                f"{self._without_crc} rows have no crc: whether payloads changed is judged only if all rows of both "
                "logs have one"
            )
        write_info(self._ledger, info)
        return self.mapped

    def _see_clocks(self) -> None:
        if NONE != self._clock_error_us < self._early_us:
            self._clock_error_us = NONE
            self.mapped.notes.append(
                f"a message was delivered {self._early_us / 1e6:.3f} s before it was sent, which is more than "
                "run.clock_error_ms: the clocks are not believed, and no bound of time is judged by them"
            )

    def _small(self) -> dict[str, list[tuple[Any, ...]]]:
        topics = {one.name: one for one in self._map.topic}
        subscriptions = {one.name: one for one in self._map.subscription}
        error_us = self._clock_error_us
        return {
            "stream": [
                rows.Stream(number, producer, self._topics[topic], SENDERS)
                for (producer, topic), number in self._streams.items()
            ],
            "topic": [
                rows.Topic(number, name, int(topics[name].dedup), topics[name].publish_rate)
                if name in topics
                else rows.Topic(number, name)
                for name, number in self._topics.items()
            ],
            "key": [rows.Key(number, key) for key, number in self._keys.items()],
            "subscription": [
                _subscription(number, name, subscriptions.get(name)) for name, number in self._subs.items()
            ],
            # When the last one left is not in the logs.
            "consumer": [one._replace(t_to=None) for one in self._consumers.values()],
            "writer": [
                rows.Writer(SENDERS, "producers' logs", 0, error_us, self._unused[SENDERS]),
                rows.Writer(RECEIVERS, "consumers' logs", 0, 0 if error_us >= 0 else NONE, self._unused[RECEIVERS]),
            ],
        }


def _subscription(number: int, name: str, promised: Any) -> rows.Subscription:
    if promised is None:
        return rows.Subscription(number, name, type="Shared")
    delay = NONE if promised.nack_delay_ms is None else promised.nack_delay_ms * 1000
    return rows.Subscription(
        number,
        name,
        type=promised.type.value,
        whole=int(promised.whole),
        nack_delay=delay,
        max_redeliv=promised.max_redeliveries,
    )


def _info(described: Map, suite: str) -> LedgerInfo:
    run = described.run
    return LedgerInfo(
        schema=str(CURRENT[FileKind.LEDGER]),
        file=FileKind.LEDGER,
        run=run.name,
        suite=suite,
        origin=Origin.MAPPED,
        client=run.client,
        client_version=run.client_version,
        broker=BrokerInfo(kind="external", name=run.broker, version=run.broker_version),
        seed=0,
        started_unix_ms=round(run.started.timestamp() * 1000),
        order=run.order,
        acking=Acking(run.acks or (Acks.NONE if described.received.acked_at is None else Acks.INDIVIDUAL)),
        self_checking=False,
        grace_us=run.grace_ms * 1000,
        versions=run.versions,
    )


def _years(t: int) -> str:
    # Text of thousands of digits is no float.
    return f"{abs(t) / _YEAR_US:.0f}" if abs(t) < 10**9 * _YEAR_US else "millions of"


_NO_COLUMNS = ("files", "codes", "unit")


def _columns(names: Sent | Received) -> dict[str, str]:
    """Key of the map -> column."""
    table = type(names).__name__.lower()
    fields = msgspec.structs.asdict(names)
    return {f"{table}.{key}": value for key, value in fields.items() if key not in _NO_COLUMNS and value is not None}


def _place(names: Sent | Received, row: Row) -> tuple[int, int, int]:
    return message_id(row[names.message_id], names.message_id) if names.message_id else (NONE, NONE, NONE)


def _empty(value: Any) -> bool:
    return value is None or value == ""


def _stacked(found: list[Any], row: Any) -> Columns:
    """Rows of a table as columns of 64 bits."""
    columns = zip(*found, strict=True) if found else [()] * len(row._fields)
    return {name: np.array(values, np.int64) for name, values in zip(row._fields, columns, strict=True)}
