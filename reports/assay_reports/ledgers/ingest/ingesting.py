"""The ingest: every writer's segments into one ledger, at once or beside a run that goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay_conformance.ledger.declarations import BENCH
from assay_conformance.ledger.info import Acking, Acks, LedgerInfo, acks
from assay_conformance.ledger.segments import NO_TIME, Block, BlockKind, Said
from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, NONE, OUTCOME, STORED, TABLES
from assay_conformance.model.errors import UsageError
from assay_reports.bounds import HOLD_S
from assay_reports.ledgers.ingest.certifying import Columns, Consumers, Streams, groups
from assay_reports.ledgers.ingest.clocks import FirstSends
from assay_reports.ledgers.ingest.covering import Covering
from assay_reports.ledgers.ingest.names import Names, Numbers
from assay_reports.ledgers.ingest.payloads import checks
from assay_reports.ledgers.ingest.reading import columns, declarations, segment_files
from assay_reports.ledgers.ingest.sources import Source, Writer
from assay_reports.ledgers.layout import NULL, PART_ROWS, PART_S, PartWriter, create, write_info, write_smalls


@dataclass
class Ingested:
    """What came of it. `notes`: sentences about what was torn, damaged or could not be true."""

    rows: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


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
        self._writers: dict[str, Writer] = {}
        self._sources: dict[Path, Source] = {}
        self._first_sends = FirstSends()
        self._said: set[int] = set()
        self._skewed: dict[int, str] = {}
        write_smalls(ledger, {})

    def step(self) -> int:
        """Take in what has been written since; how many rows that was. Small tables follow as they change."""
        return self._step(final=False)

    def finish(self, info: LedgerInfo | None = None) -> Ingested:
        """Take in the rest and close every part, when no writer writes any more; `info` replaces the ledger's.

        Raises UsageError when no segment could be read.
        """
        self._step(final=True)
        if not any(source.file.begun for source in self._sources.values()):
            there = "".join(f"; nothing in {path.name} can be read" for path in sorted(self._sources)[:3])
            raise UsageError(f"{self._segments}: no segments in it; expected files that end in .seg{there}")
        for writer in self._writers.values():
            writer.see_ends(self._names.was_killed(writer.name), self._names.owns(writer.name))
        for writer in self._writers.values():
            for parts in writer.parts.values():
                parts.close()
        self._write_small(final=True)
        last = info or self._info
        if last.acking.mode is Acks.UNKNOWN and not any(one.state.broken for one in self._writers.values()):
            # It was not declared beforehand; the rows show it.
            mode = acks(individual=Said.ACK in self._said, cumulative=Said.ACK_UPTO in self._said)
            last = msgspec.structs.replace(last, acking=Acking(mode))
        if last is not self._info:
            write_info(self._ledger, last)
        return Ingested(self._rows(), self._notes())

    # --- reading ---

    def _step(self, final: bool) -> int:
        before = sum(self._rows().values())
        dropped = self._dropped()
        self._look(final)
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
        # Whoever follows the ledger is to know of names, and of holes, before the rows that go by them are there.
        if self._names.changed or self._dropped() != dropped:
            self._write_small()
        for writer in self._writers.values():
            for parts in writer.parts.values():
                parts.roll()
        return sum(self._rows().values()) - before

    def _look(self, final: bool) -> None:
        for file in segment_files(self._segments):
            if file.path in self._sources or (opened := file.opened(final)) is None:
                continue
            if opened.writer not in self._writers:
                number = self._names.writer(opened.writer, opened.host)
                self._writers[opened.writer] = Writer(opened.writer, number)
            writer = self._writers[opened.writer]
            self._sources[file.path] = Source(writer, file)
            writer.sources.append(self._sources[file.path])
            self._names.changed = True

    def _sent(self, source: Source, blocks: Sequence[Block]) -> None:
        """Write declarations, clocks, and what producers did."""
        writer = source.writer
        for one in blocks:
            if one.kind == BlockKind.CLOCKS:
                for t, unix_us in zip(*columns(one).values(), strict=True):
                    self._names.sampled(writer.name, int(t), int(unix_us))
        for one in blocks:
            if one.kind == BlockKind.DECLARATIONS:
                for declaration in declarations(source.file.path, one):
                    self._names.declare(writer.name, source.numbers, declaration)
        attempts, outcomes = (_rows_of(kind, blocks) for kind in (BlockKind.ATTEMPTS, BlockKind.OUTCOMES))
        if self._has_clock(source, attempts, outcomes):
            self._attempts(writer, source.numbers, attempts)
            self._outcomes(writer, outcomes)
        stored = _signed(_rows_of(BlockKind.STORED, blocks))
        source.stored = source.stored or bool(len(stored["seq"]))
        self._write(writer, STORED.name, stored)

    def _delivered(self, source: Source, blocks: Sequence[Block]) -> None:
        """Write what consumers did, in the order of writing."""
        deliveries, acks = (_rows_of(kind, blocks) for kind in (BlockKind.DELIVERIES, BlockKind.ACKS))
        rows = len(deliveries["seq"]) + len(acks["seq"])
        if rows and self._has_clock(source, deliveries, acks):
            self._deliver(source.writer, self._own(source, deliveries), self._own(source, acks))

    def _has_clock(self, source: Source, *tables: Columns) -> bool:
        """Without any sample of its writer's clock the times of its rows are unknown."""
        if source.writer.name in self._names.clocks:
            return True
        source.pass_over(sum(len(rows["seq"]) for rows in tables))
        return False

    # --- rows ---

    def _attempts(self, writer: Writer, numbers: Numbers, rows: Columns) -> None:
        rows = self._in_run_time(writer, _signed(rows), "t", "deliver_at")
        rows["key"] = _mapped(rows["key"], numbers.keys)
        self._consumers.attempts(rows)
        self._first_sends.take(rows)
        self._write(writer, ATTEMPT.name, rows)

    def _outcomes(self, writer: Writer, rows: Columns) -> None:
        rows = self._in_run_time(writer, rows, "t")
        self._write(writer, OUTCOME.name, rows | {"ord": self._streams.outcomes(rows)})

    def _own(self, source: Source, rows: Columns) -> Columns:
        """With the run's numbers and times."""
        numbers = source.numbers
        rows = self._in_run_time(source.writer, rows, *(name for name in ("t", "t_done") if name in rows))
        consumer = _mapped(rows["consumer"], numbers.consumers)
        named = consumer != NONE
        if not named.all():
            if not source.file.broken:
                strange = int(rows["consumer"][~named][0])
                raise UsageError(f"{source.file.path}: speaks of consumer {strange}, which it has not declared")
            source.pass_over(int((~named).sum()))
            rows, consumer = {name: values[named] for name, values in rows.items()}, consumer[named]
        subs = {one: self._names.sub_of(one) for one in np.unique(consumer).tolist()}
        rows |= {"consumer": consumer, "sub": _mapped(consumer, subs)}
        return rows | {"key": _mapped(rows["key"], numbers.keys)} if "key" in rows else rows

    def _deliver(self, writer: Writer, deliveries: Columns, acks: Columns) -> None:
        self._see_clocks(writer, deliveries)
        checked: Any = np.zeros(len(deliveries["seq"]), np.int64)
        for (stream,), at in groups(deliveries["stream"]):
            values = (deliveries[name][at] for name in ("seq", "size", "crc"))
            checked[at] = checks(self._names.streams.get(stream), *values)
        self._said.update(np.unique(acks["kind"]).tolist())
        self._covering.delivered(deliveries)
        acks = self._covering.expand(acks)
        rows = _signed(deliveries) | self._consumers.deliveries(deliveries, acks)
        self._write(writer, DELIVERY.name, rows | {"ok": checked, "pos": self._positions(writer, rows["consumer"])})
        self._write(writer, ACK.name, acks)

    def _positions(self, writer: Writer, consumers: Any) -> Any:
        found: Any = np.zeros(len(consumers), np.int64)
        for (consumer,), at in groups(consumers):
            start = writer.positions.get(consumer, 0)
            found[at] = np.arange(start, start + len(at))
            writer.positions[consumer] = start + len(at)
        return found

    def _see_clocks(self, writer: Writer, rows: Columns) -> None:
        """Find wrong clocks: a delivery before its attempt, beyond what the clocks may be wrong by, shows one."""
        for stream, early_us in self._first_sends.early_us(rows):
            sender = self._names.writer_of_stream.get(stream)
            if sender is None:
                continue
            errors = [self._names.clocks[name].error_us for name in (writer.name, sender)]
            if NONE not in errors and early_us > sum(errors):
                self._note_skew(writer, self._writers[sender], early_us)

    def _note_skew(self, one: Writer, other: Writer, early_us: int) -> None:
        sentence = (
            f"the clocks of {other.name} and {one.name} do not agree: a message was delivered {early_us / 1e6:.3f} s "
            "before it was sent; bounds of time cannot be judged for either"
        )
        for writer in (one, other):
            self._skewed.setdefault(writer.number, sentence)

    def _in_run_time(self, writer: Writer, rows: Columns, *names: str) -> Columns:
        offset = self._names.clocks[writer.name].offset_us
        return rows | {name: np.where(rows[name] == NO_TIME, NULL, rows[name] - offset) for name in names}

    # --- writing ---

    def _write(self, writer: Writer, table: str, rows: Columns) -> None:
        if not len(rows["seq"]):
            return
        self._names.speak_of(np.unique(rows["stream"]).tolist())
        if table not in writer.parts:
            writer.parts[table] = PartWriter(
                self._ledger,
                TABLES[table],
                writer.number,
                part_rows=self._part_rows,
                part_s=self._part_s,
                clock=self._clock,
            )
        try:
            writer.parts[table].add(rows)
        except UsageError as error:
            raise UsageError(f"{self._segments}: {writer.name} has written what is no row: {error}") from error

    def _write_small(self, final: bool = False) -> None:
        states = {name: writer.state for name, writer in self._writers.items()}
        write_smalls(self._ledger, self._names.tables(states, set(self._skewed), final))
        self._names.changed = False

    def _dropped(self) -> int:
        return sum(source.dropped for source in self._sources.values())

    def _rows(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for writer in self._writers.values():
            for table, parts in writer.parts.items():
                found[table] = found.get(table, 0) + parts.rows
        return found

    def _notes(self) -> list[str]:
        found: list[str] = []
        for source in sorted(self._sources.values(), key=lambda one: one.file.path.name):
            found += source.notes()
        for writer in self._writers.values():
            if not writer.state.closed:
                found.append(f"{writer.name}: did not close its file; what it had not written yet is missing")
        return [*found, *self._names.notes(), *sorted(set(self._skewed.values()))]


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
