"""The ingest: certificates are the exact ones whatever the run was like; what is wrong with segments is said."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from tests.spark.on_disk.test_layout import INFO_OF_A_RUN

from assay_conformance.catalogue import load
from assay_conformance.ledger import clauses
from assay_conformance.ledger.collection import Rows, sums
from assay_conformance.ledger.declarations import (
    BENCH,
    ClockDeclared,
    ConsumerDeclared,
    EpochDeclared,
    KeyDeclared,
    ProcessEnded,
    SegmentOpened,
    StreamDeclared,
    SubscriptionDeclared,
    TopicDeclared,
)
from assay_conformance.ledger.info import Acking, Acks
from assay_conformance.ledger.judge import judge_rows
from assay_conformance.ledger.segments import RECORDS, BlockKind, SegmentWriter, block, scan
from assay_conformance.ledger.tables import (
    ACK,
    ANY_HELD,
    ATTEMPT,
    DELIVERY,
    OUTCOME,
    PARTS,
    STORED,
    AckKind,
    Again,
    Integrity,
)
from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import Identity
from assay_conformance.model.payload import generate
from assay_conformance.model.verdict import Verdict
from assay_reports.ledgers.audit import audit
from assay_reports.ledgers.ingest import Ingest, Ingested
from assay_reports.ledgers.ingest.reading import WINDOW
from assay_reports.ledgers.naming import see_names
from assay_reports.ledgers.opening import Ledger, open_ledger, smalls

SEED, CASE = 7, 1
S = 1_000_000


class Writer:
    """A process whose clock is `ahead` of the run's, writing a file as an agent does. The bench knows its clock."""

    def __init__(self, folder: Path, name: str, ahead_us: int = 0, host: str = "") -> None:
        self.name, self.ahead_us = name, ahead_us
        self.path = folder / f"{name}.seg"
        self.now = 0
        self._file = self.path.open("ab", buffering=0)
        self.to = SegmentWriter(self._file.write, self._clock, SegmentOpened(writer=name, host=host))

    def t(self, run_us: int) -> int:
        self.now = max(self.now, run_us)
        return run_us + self.ahead_us

    def _clock(self) -> tuple[int, int]:
        return self.now + self.ahead_us, self.now


def crc(stream: int, seq: int, size: int = 64) -> int:
    return zlib.crc32(generate(Identity(CASE, stream, seq), size, SEED))


@dataclass
class Run:
    """A sender and a receiver with one consumer, and the bench beside them."""

    folder: Path
    ahead_us: int = 0
    type: str = "Failover"
    bench: Writer = field(init=False)
    sender: Writer = field(init=False)
    receiver: Writer = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.bench = Writer(self.folder, BENCH)
        self.sender = Writer(self.folder, "sender", self.ahead_us)
        self.receiver = Writer(self.folder, "receiver")
        for one in (self.bench, self.sender, self.receiver):
            self.bench.to.declare(ClockDeclared(writer=one.name, offset_us=one.ahead_us, error_us=10))
        self.bench.to.declare(SubscriptionDeclared(subscription="s", type=self.type, nack_delay=S))
        self.bench.to.flush()
        self.receiver.to.declare(ConsumerDeclared(consumer=0, subscription="s", name="c", t=0))

    def stream(self, number: int, seed: int | None = SEED) -> None:
        declared = StreamDeclared(stream=number, producer=f"p{number}", topic="t", case=CASE, seed=seed)
        self.sender.to.declare(declared)

    def sent(self, stream: int, seq: int, t: int, entry: int, *, deliver_at: int = -1, key: int = -1) -> None:
        due = deliver_at if deliver_at < 0 else self.sender.t(deliver_at)
        self.sender.to.attempt(seq, self.sender.t(t), due, stream, key, 64, crc(stream, seq), 0)
        self.sender.to.outcome(seq, self.sender.t(t + 100), 5, entry, stream, -1, 0, 0)

    def got(
        self, stream: int, seq: int, t: int, entry: int, *, redeliv: int = 0, key: int = -1, wrong: int = 0
    ) -> None:
        told = crc(stream, seq) ^ wrong
        self.receiver.to.delivery(seq, self.receiver.t(t), 5, entry, stream, 0, key, -1, 64, told, redeliv)

    def said(self, stream: int, seq: int, t: int, entry: int, kind: int, *, done: bool = True) -> None:
        t_done = t + 50 if done and kind != AckKind.NACK else -1
        self.receiver.to.ack(seq, self.receiver.t(t), t_done, 5, entry, stream, 0, -1, kind)

    def close(self) -> None:
        for one in (self.sender, self.receiver, self.bench):
            one.to.close()


def ingested(folder: Path) -> tuple[Ledger, Ingested]:
    ledger = folder.with_name("ledger")
    told = Ingest(folder, ledger, INFO_OF_A_RUN).finish()
    return open_ledger(str(ledger)), told


@pytest.fixture
def run(tmp_path: Path) -> Run:
    found = Run(tmp_path / "segments")
    found.stream(0)
    return found


def test_a_message_becomes_its_rows(run: Run) -> None:
    run.sent(0, 0, 100, 1)
    run.got(0, 0, 300, 1)
    run.said(0, 0, 400, 1, AckKind.ACK)
    run.close()
    ledger, told = ingested(run.folder)
    assert told.notes == []
    assert [(row.stream, row.seq, row.t) for row in ledger.read(ATTEMPT)] == [(0, 0, 100)]
    assert [(row.entry, row.t, row.ord) for row in ledger.read(OUTCOME)] == [(1, 200, 1)]
    assert [(row.pos, row.t, row.gap, row.ok) for row in ledger.read(DELIVERY)] == [(0, 300, 1, Integrity.GOOD)]
    assert [(row.kind, row.t, row.t_done) for row in ledger.read(ACK)] == [(AckKind.ACK, 400, 450)]


def test_times_are_the_runs(tmp_path: Path) -> None:
    run = Run(tmp_path / "segments", ahead_us=5 * S)
    run.stream(0)
    run.sent(0, 0, 100, 1)
    run.close()
    ledger, _ = ingested(run.folder)
    assert [row.t for row in ledger.read(ATTEMPT)] == [100]
    assert [(one.name, one.clock_offset, one.clock_error) for one in ledger.small["writer"]] == [
        (BENCH, 0, 10),
        ("receiver", 0, 10),
        ("sender", 5 * S, 10),
    ]


@pytest.mark.parametrize(
    ("kinds", "mode"), [([], "none"), ([1], "none"), ([0], "individual"), ([2], "cumulative"), ([0, 2], "both")]
)
def test_how_was_acknowledged_is_seen_where_nobody_said_it(run: Run, kinds: list[int], mode: str) -> None:
    for seq, kind in enumerate(kinds):
        run.got(0, seq, 100 + seq, seq)
        run.said(0, seq, 200 + seq, seq, kind)
    run.close()
    ledger, _ = ingested(run.folder)
    assert ledger.info.acking == Acking(Acks(mode))


def test_consumers_leave_with_their_process(run: Run) -> None:
    run.got(0, 0, 300, 1)
    run.receiver.to.flush()
    run.bench.to.declare(ProcessEnded(writer="receiver", t=700))
    run.bench.to.close()
    ledger, _ = ingested(run.folder)
    assert [one.t_to for one in ledger.small["consumer"]] == [700]


def test_a_payload_that_is_not_what_it_says_is_bad(run: Run) -> None:
    for seq in range(300):
        run.got(0, seq, 1000 + seq, seq, wrong=seq == 256)
    run.close()
    ledger, _ = ingested(run.folder)
    assert [row.seq for row in ledger.read(DELIVERY) if row.ok != Integrity.GOOD] == [256]


def test_a_stream_without_a_seed_does_not_say_what_it_sends(run: Run) -> None:
    run.stream(1, seed=None)
    run.got(1, 0, 1000, 0)
    run.close()
    ledger, _ = ingested(run.folder)
    assert [row.ok for row in ledger.read(DELIVERY)] == [Integrity.UNKNOWN]


def test_a_cumulative_acknowledgment_covers_what_lies_before_it_on_its_topic(run: Run) -> None:
    run.stream(1)
    run.sender.to.declare(StreamDeclared(stream=2, producer="p2", topic="elsewhere", case=CASE, seed=SEED))
    for place, (stream, seq) in enumerate([(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)]):
        run.got(stream, seq, 100 + place, place)
    run.said(0, 1, 200, 3, 2)
    run.close()
    ledger, _ = ingested(run.folder)
    rows = [(row.stream, row.seq, row.kind, row.t_done) for row in ledger.read(ACK)]
    assert rows == [(0, 0, AckKind.COVERED, 250), (0, 1, AckKind.COVERED, 250), (1, 0, AckKind.COVERED, 250)]


def test_a_message_is_covered_once(run: Run) -> None:
    for seq in range(4):
        run.got(0, seq, 100 + seq, seq)
    run.said(0, 1, 200, 1, 2)
    run.said(0, 3, 300, 3, 2)
    run.close()
    ledger, _ = ingested(run.folder)
    assert [(row.seq, row.t) for row in ledger.read(ACK)] == [(0, 200), (1, 200), (2, 300), (3, 300)]


def test_a_cumulative_acknowledgment_that_did_not_end_well_covers_nothing_else(run: Run) -> None:
    for seq in range(2):
        run.got(0, seq, 100 + seq, seq)
    run.said(0, 1, 200, 1, 2, done=False)
    run.said(0, 1, 300, 1, 2)
    run.close()
    ledger, _ = ingested(run.folder)
    assert [(row.seq, row.t_done) for row in ledger.read(ACK)] == [(0, 350), (1, None), (1, 350)]


def test_what_the_bench_declares_stands_in_the_small_tables(run: Run) -> None:
    run.bench.to.declare(TopicDeclared(topic="t", dedup=True, publish_rate=100))
    run.bench.to.declare(EpochDeclared(epoch=0, action="kill", target="client", t_from=50, subscription="s"))
    run.bench.to.declare(EpochDeclared(epoch=0, action="kill", target="client", t_from=50, t_to=60, subscription="s"))
    run.sent(0, 0, 1, 1)
    run.close()
    ledger, _ = ingested(run.folder)
    assert [(one.name, one.dedup, one.publish_rate) for one in ledger.small["topic"]] == [("t", 1, 100)]
    assert [(one.name, one.type, one.nack_delay) for one in ledger.small["subscription"]] == [("s", "Failover", S)]
    assert [(one.action, one.t_to, one.sub) for one in ledger.small["epoch"]] == [("kill", 60, 0)]


def test_keys_of_two_writers_meet_by_their_text(run: Run) -> None:
    run.sender.to.declare(KeyDeclared(key=0, text="a"))
    run.sender.to.declare(KeyDeclared(key=1, text="b"))
    run.receiver.to.declare(KeyDeclared(key=0, text="b"))
    run.sent(0, 0, 1, 1, key=1)
    run.got(0, 0, 300, 1, key=0)
    run.close()
    ledger, _ = ingested(run.folder)
    assert [row.key for row in ledger.read(ATTEMPT)] == [row.key for row in ledger.read(DELIVERY)]


def test_what_is_read_back_is_stored(run: Run) -> None:
    run.bench.to.stored(0, 5, 1, 0, -1, crc(0, 0), 0, 1)
    run.close()
    ledger, _ = ingested(run.folder)
    assert [(row.stream, row.seq, row.entry, row.chunks) for row in ledger.read(STORED)] == [(0, 0, 1, 1)]


def test_a_torn_end_is_dropped_and_said(run: Run) -> None:
    run.sent(0, 0, 100, 1)
    run.sender.to.flush()
    with run.sender.path.open("ab") as file:
        file.write(b"SEGB\x02")
    for one in (run.receiver, run.bench):
        one.to.close()
    ledger, told = ingested(run.folder)
    assert told.notes == [
        "sender.seg: half a block at its end, 5 bytes dropped",
        "sender: did not close its file; what it had not written yet is missing",
    ]
    sender = next(one for one in ledger.small["writer"] if one.name == "sender")
    assert (sender.dropped, sender.closed, ledger.rows("attempt")) == (5, 0, 1)


def test_a_broken_block_is_named_and_the_rest_is_read(run: Run) -> None:
    run.sent(0, 0, 100, 1)
    run.sender.to.flush()
    broken = run.sender.path.stat().st_size
    run.sent(0, 1, 200, 2)
    run.sender.to.flush()
    run.sent(0, 2, 300, 3)
    run.close()
    data = bytearray(run.sender.path.read_bytes())
    data[broken + 20] ^= 1
    run.sender.path.write_bytes(data)
    ledger, told = ingested(run.folder)
    assert [row.seq for row in ledger.read(ATTEMPT)] == [0, 2]
    size = f"{16 + RECORDS[BlockKind.ATTEMPTS].size} bytes"
    assert told.notes == [
        f"sender.seg: the block at byte {broken} cannot be read, {size} dropped; there were 1 attempts in it"
    ]


# --- what cannot be read ---------------------------------------------------------------------------------------------

Spoil = Callable[[Path], object]


def empty(path: Path) -> None:
    path.write_bytes(b"")


def torn_in_its_header(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40])


def garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 4)


def telling(path: Path) -> list[int]:
    """Where blocks begin that tell more than the time."""
    blocks = scan(path.read_bytes()).blocks
    return [one.at for one in blocks if one.kind not in (BlockKind.CLOCKS, BlockKind.END)]


def broken(place: int) -> Spoil:
    def spoil(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[telling(path)[place] + 20] ^= 1
        path.write_bytes(data)

    return spoil


def ended_by_noise(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: telling(path)[1]] + bytes(200))


FIRST, NAMES, INNER = broken(0), broken(1), broken(-2)
SPOILED = [empty, torn_in_its_header, garbage, FIRST, INNER, NAMES, ended_by_noise]
SPOILED_IDS = ["empty", "torn header", "garbage", "first block", "inner block", "names", "noise at its end"]


@pytest.fixture
def three(run: Run) -> Run:
    """Three messages, each written before the next one is sent, and read back; all is well."""
    run.bench.to.declare(SubscriptionDeclared(subscription="s", type="Failover", whole=True))
    run.bench.to.declare(TopicDeclared(topic="t", read_back=True))
    reader = Writer(run.folder, "read-back")
    for seq in range(3):
        reader.to.stored(seq, 5, 1 + seq, 0, -1, crc(0, seq), 0, 1)
        reader.to.flush()
    reader.to.close()
    for seq in range(3):
        run.sent(0, seq, (1 + seq) * S, 1 + seq)
        run.got(0, seq, (1 + seq) * S + 500, 1 + seq)
        for one in (run.sender, run.receiver):
            one.to.flush()
    return run


def verdicts(ledger: Ledger) -> dict[str, Verdict]:
    """A minute later."""
    late = msgspec.structs.replace(ledger.info, ended_unix_ms=ledger.info.started_unix_ms + 60_000)
    rows, small = Rows(*(tuple(ledger.read(table)) for table in PARTS)), smalls(ledger)
    see_names(ledger.where, small, streams={row.stream for row in rows.attempts + rows.deliveries})
    found = judge_rows(rows, small, late, sums(rows, small, late), load())
    return {str(row.requirement): row.verdict for row in found}


def test_a_run_of_which_everything_can_be_read_passes(three: Run) -> None:
    three.close()
    ledger, told = ingested(three.folder)
    assert told.notes == []
    told_of = (clauses.LOST, clauses.INVENTED, clauses.AS_SENT, clauses.STORED_OK)
    assert {verdicts(ledger)[one] for one in told_of} == {Verdict.PASS}


@pytest.mark.parametrize("whose", ["sender", "receiver", "bench", "read-back"])
@pytest.mark.parametrize("spoil", SPOILED, ids=SPOILED_IDS)
def test_what_cannot_be_read_is_said_and_nobody_is_accused_and_nothing_is_proven(
    three: Run, whose: str, spoil: Spoil
) -> None:
    three.close()
    spoil(three.folder / f"{whose}.seg")
    ledger, told = ingested(three.folder)
    assert [note for note in told.notes if note.startswith(f"{whose}.seg: ")]
    found = verdicts(ledger)
    assert found.keys() >= {clauses.LOST, clauses.INVENTED, clauses.AS_SENT}
    assert clauses.STORED_OK in found or whose == "bench"
    assert not {*found.values()} & {Verdict.FAIL, Verdict.PASS}


@pytest.mark.parametrize(
    ("spoil", "note"),
    [
        (empty, "it is empty, and its writer is not recorded as killed: rows of any stream may be missing"),
        (torn_in_its_header, "half a block at its end, 40 bytes dropped"),
        (
            garbage,
            "the block at byte 0 cannot be read, 1024 bytes dropped; it is unknown how many rows it held, and whose",
        ),
        (FIRST, "the block at byte 0 cannot be read, "),
        (INNER, "there were 1 deliveries in it"),
    ],
    ids=SPOILED_IDS[:5],
)
def test_it_is_said_which_bytes_were_dropped_and_of_how_many_rows(three: Run, spoil: Spoil, note: str) -> None:
    three.close()
    spoil(three.receiver.path)
    _, told = ingested(three.folder)
    assert any(line.startswith("receiver.seg: ") and note in line for line in told.notes)


def test_rows_whose_consumer_cannot_be_read_are_counted(three: Run) -> None:
    three.close()
    NAMES(three.receiver.path)
    _, told = ingested(three.folder)
    assert "receiver.seg: 3 rows dropped, for what says whose or when they were cannot be read" in told.notes


@pytest.mark.parametrize("spoil", [empty, torn_in_its_header], ids=SPOILED_IDS[:2])
def test_who_was_killed_before_it_wrote_a_row_has_left_no_hole(three: Run, spoil: Spoil) -> None:
    late = Writer(three.folder, "receiver-1")
    spoil(late.path)
    three.bench.to.declare(ProcessEnded(writer="receiver-1", t=5 * S, killed=True))
    three.close()
    ledger, told = ingested(three.folder)
    assert "receiver-1.seg: nothing was written yet when its writer was killed" in told.notes
    assert verdicts(ledger)[clauses.LOST] is Verdict.PASS


def test_the_torn_end_of_a_killed_writer_is_no_hole(three: Run) -> None:
    with three.receiver.path.open("ab") as file:
        file.write(b"SEGB\x04\0\0\0\xff\0\0\0")
    for one in (three.sender, three.bench):
        one.to.close()
    ledger, _ = ingested(three.folder)
    assert verdicts(ledger)[clauses.LOST] is Verdict.PASS


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_what_is_stored_is_not_told_to_the_end(three: Run, kept: int) -> None:
    three.close()
    reader = three.folder / "read-back.seg"
    reader.write_bytes(reader.read_bytes()[: telling(reader)[kept]])
    ledger, _ = ingested(three.folder)
    assert verdicts(ledger)[clauses.STORED_OK] is Verdict.INCONCLUSIVE


def test_half_a_block_in_a_file_that_has_a_next_one_is_a_hole(three: Run) -> None:
    three.close()
    first = three.receiver.path.rename(three.folder / "receiver.000000.seg")
    three.receiver.path = three.folder / "receiver.000001.seg"
    three.receiver.path.write_bytes(first.read_bytes())
    first.write_bytes(first.read_bytes()[:-20])
    ledger, _ = ingested(three.folder)
    assert ledger.small["writer"][-1].held == ANY_HELD


def test_streams_that_nobody_names_are_said_and_doubt_everything(run: Run) -> None:
    run.sent(4, 0, S, 1)
    run.got(4, 0, S + 500, 1)
    run.close()
    ledger, told = ingested(run.folder)
    assert told.notes == ["there are rows of undeclared streams: 4"]
    assert {*verdicts(ledger).values()} == {Verdict.INCONCLUSIVE}


def test_a_payload_that_changed_is_found_whatever_else_is_missing(three: Run) -> None:
    three.got(0, 3, 4 * S, 4, wrong=1)
    three.close()
    garbage(three.folder / "other.seg")
    ledger, _ = ingested(three.folder)
    assert verdicts(ledger)[clauses.AS_SENT] is Verdict.FAIL


def test_noise_of_any_size_is_read_in_pieces(three: Run) -> None:
    three.close()
    noise = bytes(3 * WINDOW)
    three.receiver.path.write_bytes(noise + three.receiver.path.read_bytes())
    ledger, told = ingested(three.folder)
    assert f"the block at byte 0 cannot be read, {len(noise)} bytes dropped" in told.notes[0]
    assert ledger.rows("delivery") == 3


def test_who_follows_a_ledger_knows_of_a_hole_before_rows_behind_it_are_there(three: Run) -> None:
    now, ledger = [0.0], three.folder.with_name("ledger")
    NAMES(three.sender.path)
    ingest = Ingest(three.folder, ledger, INFO_OF_A_RUN, part_s=1.0, clock=lambda: now[0])
    ingest.step()
    opened = open_ledger(str(ledger))
    assert (opened.rows("attempt"), opened.small["writer"][-1].held) == (0, ANY_HELD)


@pytest.mark.parametrize(("whose", "requirement"), [("receiver", clauses.LOST), ("sender", clauses.INVENTED)])
def test_what_may_stand_in_a_broken_block_is_neither_lost_nor_invented(
    three: Run, whose: str, requirement: str
) -> None:
    three.close()
    INNER(three.folder / f"{whose}.seg")
    ledger, _ = ingested(three.folder)
    assert verdicts(ledger)[requirement] is Verdict.INCONCLUSIVE
    assert not any(one.writer < 0 for one in ledger.small["writer"])


def test_clocks_that_cannot_be_right_are_told_apart(run: Run) -> None:
    run.sent(0, 0, 5 * S, 1)
    run.got(0, 0, 3 * S, 1)
    run.close()
    ledger, told = ingested(run.folder)
    assert "the clocks of sender and receiver do not agree" in told.notes[0]
    assert {one.name: one.clock_error for one in ledger.small["writer"]} == {BENCH: 10, "receiver": -1, "sender": -1}


@pytest.mark.parametrize("kind", [AckKind.NACK, AckKind.ACK])
def test_what_is_said_in_the_microsecond_of_the_next_delivery_is_certified_exactly(run: Run, kind: int) -> None:
    run.sent(0, 0, 100, 1)
    run.got(0, 0, 1_000, 1)
    run.said(0, 0, 2_000 if kind == AckKind.NACK else 1_950, 1, kind)
    run.got(0, 0, 2_000, 1, redeliv=1)
    run.close()
    ledger, _ = ingested(run.folder)
    assert [(row.again, row.wait) for row in ledger.read(DELIVERY)] == [(Again.FIRST, None), (Again.GOT, None)]
    assert audit(ledger, full=True).differing == 0


def test_a_writer_whose_clock_nobody_measured_goes_by_the_wall(tmp_path: Path) -> None:
    folder = tmp_path / "segments"
    folder.mkdir()
    alone = Writer(folder, "alone", ahead_us=3 * S)
    alone.to.declare(StreamDeclared(stream=0, producer="p", topic="t"))
    alone.to.attempt(0, alone.t(100), -1, 0, -1, 64, 0, 0)
    alone.to.close()
    ledger, _ = ingested(folder)
    assert [row.t for row in ledger.read(ATTEMPT)] == [100]
    assert [one.clock_error for one in ledger.small["writer"]] == [-1]


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (lambda _folder: None, "no segments in it"),
        (lambda folder: (folder / "x.seg").write_bytes(b"SEGB" * 40), "no segments in it"),
        (lambda folder: folder.rmdir(), "expected a folder with segments"),
    ],
    ids=["empty", "half a block", "nothing"],
)
def test_a_folder_without_segments_is_refused(
    tmp_path: Path, break_it: Callable[[Path], object], sentence: str
) -> None:
    folder = tmp_path / "segments"
    folder.mkdir()
    break_it(folder)
    with pytest.raises(UsageError, match=sentence):
        ingested(folder)


def test_rows_are_not_added_to_a_ledger_that_has_some(run: Run) -> None:
    run.sent(0, 0, 100, 1)
    run.close()
    ingested(run.folder)
    with pytest.raises(UsageError, match="there are rows in it already"):
        ingested(run.folder)


def test_a_consumer_that_was_not_declared_is_named(run: Run) -> None:
    run.receiver.to.delivery(0, 1, 5, 1, 0, 9, -1, -1, 64, 0, 0)
    run.close()
    with pytest.raises(UsageError, match=r"receiver\.seg: speaks of consumer 9"):
        ingested(run.folder)


@pytest.mark.parametrize("line", [b"{", b"7", b'{"declares":"stream","stream":"seven"}'])
def test_a_declaration_that_is_none_is_named(run: Run, line: bytes) -> None:
    run.close()
    with run.sender.path.open("ab") as file:
        file.write(block(BlockKind.DECLARATIONS, line))
    with pytest.raises(UsageError, match=r"sender\.seg: the block at byte \d+ declares"):
        ingested(run.folder)


def test_who_wrote_what_is_no_row_is_named(run: Run) -> None:
    run.sender.to.attempt(-3, 0, -1, 0, -1, 64, 0, 0)
    run.close()
    with pytest.raises(UsageError, match="segments: sender has written what is no row: attempt: seq -3 cannot be kept"):
        ingested(run.folder)


def test_a_file_that_cannot_be_opened_is_named(run: Run) -> None:
    run.close()
    (run.folder / "folder.seg").mkdir()
    with pytest.raises(UsageError, match=r"folder\.seg: is a directory; expected a segment file"):
        ingested(run.folder)


def test_parts_come_beside_a_run_that_goes_on(run: Run) -> None:
    now = [0.0]
    ledger = run.folder.with_name("ledger")
    ingest = Ingest(run.folder, ledger, INFO_OF_A_RUN, part_s=1.0, clock=lambda: now[0])
    run.sent(0, 0, 100, 1)
    run.got(0, 0, 300, 1)
    run.sender.to.flush()
    run.receiver.to.flush()
    assert ingest.step() == 2  # what was delivered waits for what others may have written before it
    now[0] = 1.0
    assert ingest.step() == 1
    now[0] = 2.0
    ingest.step()
    opened = open_ledger(str(ledger))
    assert (opened.rows("attempt"), opened.rows("delivery"), len(opened.small["consumer"])) == (1, 1, 1)


# --- any run ---------------------------------------------------------------------------------------------------------


def wild(run: Run, seed: int, steps: int) -> None:
    """A run in which anything happens in any order: the certificates do not ask whether it is allowed. Only what was
    delivered is refused."""
    draw = random.Random(seed)
    for key in range(3):
        run.sender.to.declare(KeyDeclared(key=key, text=f"k{key}"))
        run.receiver.to.declare(KeyDeclared(key=2 - key, text=f"k{key}"))
    run.stream(1)
    t = 0
    got = set()
    for _ in range(steps):
        t += draw.randint(1, 1000)
        stream, seq = draw.randint(0, 1), draw.choice([draw.randint(0, 40), 1 << 16, (1 << 39) + draw.randint(0, 3)])
        entry = draw.randint(0, 60)
        match draw.randint(0, 5):
            case 0:
                run.sent(stream, seq, t, entry, deliver_at=draw.choice([-1, t + 500]), key=draw.randint(-1, 2))
            case 1 | 2:
                run.got(stream, seq, t, entry, redeliv=draw.randint(0, 2), key=draw.randint(-1, 2))
                got.add((stream, seq))
            case 3 if (stream, seq) in got:
                run.said(stream, seq, t, entry, AckKind.NACK)
            case 4:
                run.said(stream, seq, t, entry, draw.choice([0, 2]), done=draw.random() < 0.8)
            case 5:
                for one in (run.sender, run.receiver):
                    one.to.flush()
    run.close()


@pytest.mark.parametrize("seed", range(12))
def test_certificates_of_any_run_are_the_exact_ones(tmp_path: Path, seed: int) -> None:
    run = Run(tmp_path / "segments", ahead_us=seed * S)
    run.stream(0)
    wild(run, seed, 600)
    ledger, _ = ingested(run.folder)
    told = audit(ledger, full=True)
    assert (told.differences, told.rows > 200) == ((), True)


def test_a_run_that_is_followed_leaves_the_rows_of_one_that_is_read_at_its_end(tmp_path: Path) -> None:
    run = Run(tmp_path / "segments")
    run.stream(0)
    wild(run, 3, 600)
    whole, _ = ingested(run.folder)
    grown, followed = tmp_path / "grown", tmp_path / "followed"
    grown.mkdir()
    now = [0.0]
    ingest = Ingest(grown, followed, INFO_OF_A_RUN, part_s=1.5, clock=lambda: now[0])
    data = {path.name: path.read_bytes() for path in run.folder.iterdir()}
    for share in range(1, 8):
        for name, content in data.items():
            # Wild runs deliver before they send: the sender's file is there from the beginning.
            there = len(content) * share // 7 if name.startswith("receiver") else len(content)
            (grown / name).write_bytes(content[:there])
        now[0] += 1.0
        ingest.step()
    ingest.finish()
    again = open_ledger(str(followed))
    assert len(again.parts["delivery"]) > 1
    for table in (ATTEMPT, OUTCOME, DELIVERY, ACK):
        assert sorted(again.read(table), key=repr) == sorted(whole.read(table), key=repr)
