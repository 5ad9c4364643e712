"""The ingest: every writer's segments into one ledger, at once or beside a run that goes on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from assay_conformance.ledger.declarations import BENCH
from assay_conformance.ledger.info import LedgerInfo
from assay_conformance.ledger.segments import NO_TIME, Block, BlockKind, declared
from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, NONE, OUTCOME, STORED, TABLES
from assay_conformance.model.errors import UsageError
from assay_reports.ledgers.ingest.certifying import Columns, Consumers, Streams, groups
from assay_reports.ledgers.ingest.clocks import FirstSends
from assay_reports.ledgers.ingest.covering import Covering
from assay_reports.ledgers.ingest.names import Names, Numbers, WriterState
from assay_reports.ledgers.ingest.payloads import checks
from assay_reports.ledgers.ingest.reading import SegmentFile, columns, segment_files
from assay_reports.ledgers.layout import NULL, PART_ROWS, PART_S, PartWriter, create, write_info, write_smalls

HOLD_S = 1.0
"""How long deliveries wait for what other processes had written before them: twice what a writer may hold back."""


@dataclass
class Ingested:
    """What came of it. `notes`: sentences about what was torn, damaged or could not be true."""

    rows: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass
class _Writer:
    name: str
    number: int
    sources: list[_Source] = field(default_factory=list)
    parts: dict[str, PartWriter] = field(default_factory=dict)
    positions: dict[int, int] = field(default_factory=dict)


@dataclass
class _Source:
    """A file of a writer: what was read of it once for what its producers did, and again for what its consumers did.
    `marks`: (when, how far the first reading was)."""

    writer: _Writer
    file: SegmentFile
    numbers: Numbers = field(default_factory=Numbers)
    marks: deque[tuple[float, int]] = field(default_factory=deque)
    done: int = 0


class Ingest:
    """Reads what is in `segments`, each time `step` is called, and writes parts into `ledger` as they fill or age.

    UsageError when the folder holds no segments at the end, or the ledger has rows already.
    """

    def __init__(
        self,
        segments: Path,
        ledger: Path,
        info: LedgerInfo,
        *,
        part_rows: int = PART_ROWS,
        part_s: float = PART_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if any(True for table in TABLES for _ in (ledger / table).glob("*.parquet")):
            raise UsageError(f"{ledger}: there are rows in it already; remove its tables, or name another folder")
        create(ledger, info, resume=True)
        self._segments, self._ledger, self._info = segments, ledger, info
        self._part_rows, self._part_s, self._clock = part_rows, part_s, clock
        self._names = Names(info.started_unix_ms)
        self._consumers, self._streams = Consumers(), Streams()
        self._covering = Covering(self._names.topic_of)
        self._writers: dict[str, _Writer] = {}
        self._sources: dict[Path, _Source] = {}
        self._first_sends = FirstSends()
        self._skewed: dict[int, str] = {}
        write_smalls(ledger, {})

    def step(self) -> int:
        """Take in what has been written since; how many rows that was. Small tables follow as they change."""
        return self._step(final=False)

    def finish(self, info: LedgerInfo | None = None) -> Ingested:
        """No writer writes any more: take in the rest, close every part. `info` replaces the ledger's."""
        self._step(final=True)
        for writer in self._writers.values():
            for parts in writer.parts.values():
                parts.close()
        self._write_small()
        if info is not None:
            write_info(self._ledger, info)
        if not self._writers:
            raise UsageError(f"{self._segments}: no segments in it; expected files that end in .seg")
        return Ingested(self._rows(), self._notes())

    # --- reading ---

    def _step(self, final: bool) -> int:
        before = sum(self._rows().values())
        self._look()
        now = self._clock()
        # What the bench declares before everything; what was sent before what was delivered.
        for source in sorted(self._sources.values(), key=lambda one: one.writer.name != BENCH):
            for blocks in source.file.pieces(final):
                self._sent(source, blocks)
            source.marks.append((now, source.file.used))
        for source in self._sources.values():
            stop = source.done
            while source.marks and (final or source.marks[0][0] <= now - HOLD_S):
                stop = source.marks.popleft()[1]
            for blocks in source.file.again(source.done, stop) if stop > source.done else ():
                self._delivered(source, blocks)
            source.done = stop
        for writer in self._writers.values():
            for parts in writer.parts.values():
                parts.roll()
        if self._names.changed:
            self._write_small()
        return sum(self._rows().values()) - before

    def _look(self) -> None:
        for file in segment_files(self._segments):
            if file.path in self._sources or (opened := file.opened) is None:
                continue
            if opened.writer not in self._writers:
                number = self._names.writer(opened.writer, opened.host)
                self._writers[opened.writer] = _Writer(opened.writer, number)
            writer = self._writers[opened.writer]
            self._sources[file.path] = _Source(writer, file)
            writer.sources.append(self._sources[file.path])

    def _sent(self, source: _Source, blocks: Sequence[Block]) -> None:
        """Declarations, clocks, and what producers did."""
        writer = source.writer
        for one in blocks:
            if one.kind == BlockKind.CLOCKS:
                for t, unix_us in zip(*columns(one).values(), strict=True):
                    self._names.sampled(writer.name, int(t), int(unix_us))
        for one in blocks:
            if one.kind == BlockKind.DECLARATIONS:
                for declaration in declared(one):
                    self._names.declare(writer.name, source.numbers, declaration)
        self._attempts(writer, source.numbers, _rows_of(BlockKind.ATTEMPTS, blocks))
        self._outcomes(writer, _rows_of(BlockKind.OUTCOMES, blocks))
        self._write(writer, STORED.name, _signed(_rows_of(BlockKind.STORED, blocks)))

    def _delivered(self, source: _Source, blocks: Sequence[Block]) -> None:
        """What consumers did, in the order of writing."""
        deliveries, acks = (_rows_of(kind, blocks) for kind in (BlockKind.DELIVERIES, BlockKind.ACKS))
        if len(deliveries["seq"]) or len(acks["seq"]):
            self._deliver(source.writer, self._own(source, deliveries), self._own(source, acks))

    # --- rows ---

    def _attempts(self, writer: _Writer, numbers: Numbers, rows: Columns) -> None:
        rows = self._in_run_time(writer, _signed(rows), "t", "deliver_at")
        rows["key"] = _mapped(rows["key"], numbers.keys)
        self._consumers.attempts(rows)
        self._first_sends.take(rows)
        self._write(writer, ATTEMPT.name, rows)

    def _outcomes(self, writer: _Writer, rows: Columns) -> None:
        rows = self._in_run_time(writer, rows, "t")
        self._write(writer, OUTCOME.name, rows | {"ord": self._streams.outcomes(rows)})

    def _own(self, source: _Source, rows: Columns) -> Columns:
        """With the run's numbers and times."""
        numbers = source.numbers
        rows = self._in_run_time(source.writer, rows, *(name for name in ("t", "t_done") if name in rows))
        consumer = _mapped(rows["consumer"], numbers.consumers)
        if NONE in consumer:
            strange = int(rows["consumer"][consumer == NONE][0])
            raise UsageError(f"{source.file.path}: speaks of consumer {strange}, which it has not declared")
        subs = {one: self._names.sub_of(one) for one in np.unique(consumer).tolist()}
        rows |= {"consumer": consumer, "sub": _mapped(consumer, subs)}
        return rows | {"key": _mapped(rows["key"], numbers.keys)} if "key" in rows else rows

    def _deliver(self, writer: _Writer, deliveries: Columns, acks: Columns) -> None:
        self._see_clocks(writer, deliveries)
        checked: Any = np.zeros(len(deliveries["seq"]), np.int64)
        for (stream,), at in groups(deliveries["stream"]):
            values = (deliveries[name][at] for name in ("seq", "size", "crc"))
            checked[at] = checks(self._names.streams.get(stream), *values)
        self._covering.delivered(deliveries)
        acks = self._covering.expand(acks)
        rows = _signed(deliveries) | self._consumers.deliveries(deliveries, acks)
        self._write(writer, DELIVERY.name, rows | {"ok": checked, "pos": self._positions(writer, rows["consumer"])})
        self._write(writer, ACK.name, acks)

    def _positions(self, writer: _Writer, consumers: Any) -> Any:
        found: Any = np.zeros(len(consumers), np.int64)
        for (consumer,), at in groups(consumers):
            start = writer.positions.get(consumer, 0)
            found[at] = np.arange(start, start + len(at))
            writer.positions[consumer] = start + len(at)
        return found

    def _see_clocks(self, writer: _Writer, rows: Columns) -> None:
        """A delivery before its attempt, beyond what the clocks may be wrong by, shows that one of them is wrong."""
        for stream, early_us in self._first_sends.early_us(rows):
            sender = self._names.writer_of_stream[stream]
            errors = [self._names.clocks[name].error_us for name in (writer.name, sender)]
            if NONE not in errors and early_us > sum(errors):
                self._note_skew(writer, self._writers[sender], early_us)

    def _note_skew(self, one: _Writer, other: _Writer, early_us: int) -> None:
        sentence = (
            f"the clocks of {other.name} and {one.name} do not agree: a message was delivered {early_us / 1e6:.3f} s "
            "before it was sent; bounds of time cannot be judged for either"
        )
        for writer in (one, other):
            self._skewed.setdefault(writer.number, sentence)

    def _in_run_time(self, writer: _Writer, rows: Columns, *names: str) -> Columns:
        offset = self._names.clocks[writer.name].offset_us
        return rows | {name: np.where(rows[name] == NO_TIME, NULL, rows[name] - offset) for name in names}

    # --- writing ---

    def _write(self, writer: _Writer, table: str, rows: Columns) -> None:
        if not len(rows["seq"]):
            return
        if table not in writer.parts:
            writer.parts[table] = PartWriter(
                self._ledger,
                TABLES[table],
                writer.number,
                part_rows=self._part_rows,
                part_s=self._part_s,
                clock=self._clock,
            )
        writer.parts[table].add(rows)

    def _write_small(self) -> None:
        states = {
            name: WriterState(
                sum(source.file.dropped for source in writer.sources),
                writer.sources[-1].file.ended,
                any(source.file.damage for source in writer.sources),
            )
            for name, writer in self._writers.items()
        }
        write_smalls(self._ledger, self._names.tables(states, set(self._skewed)))
        self._names.changed = False

    def _rows(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for writer in self._writers.values():
            for table, parts in writer.parts.items():
                found[table] = found.get(table, 0) + parts.rows
        return found

    def _notes(self) -> list[str]:
        files = [source.file for source in self._sources.values()]
        notes = [sentence for file in files for sentence in file.damage]
        for file in files:
            if file.dropped:
                notes.append(f"{file.path.name}: {file.dropped} bytes were not read: half a block, or a broken one")
        for writer in self._writers.values():
            if not writer.sources[-1].file.ended:
                notes.append(f"{writer.name}: did not close its file; what it had not written yet is missing")
        return notes + sorted(set(self._skewed.values()))


def _rows_of(kind: BlockKind, blocks: Sequence[Block]) -> Columns:
    """All records of a kind."""
    pieces = [columns(one) for one in blocks if one.kind == kind] or [columns(Block(kind, 0, memoryview(b"")))]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _signed(rows: Columns) -> Columns:
    """CRCs as ledgers hold them."""
    return rows | {"crc": rows["crc"].astype(np.uint32).view(np.int32).astype(np.int64)}


def _mapped(values: Any, numbers: dict[int, int]) -> Any:
    """Each value by the table; -1 for one that was never declared."""
    distinct, inverse = np.unique(values, return_inverse=True)
    return np.array([numbers.get(one, NONE) for one in distinct.tolist()], np.int64)[inverse]
