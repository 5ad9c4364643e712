"""What cannot be judged: one sentence that says what and where, and the exit code of its kind."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.end_to_end.processes import eventually, is_in
from tests.end_to_end.running import command_line
from tests.left_out import Need, needs
from tests.spark.histories import DEFECTS, Packed, info, pack
from tests.spark.ledgers import write
from tests.spark.on_disk.test_ingest import Run, S

from assay_conformance.ledger import clauses
from assay_conformance.model.errors import HarnessError
from assay_conformance.model.verdict import Verdict
from assay_fixtures.cli import _run
from assay_reports.bounds import LEAST_FREE_SPARK_BYTES
from assay_reports.ledgers.layout import VERSION_KEY
from assay_reports.spark import watch
from assay_reports.spark.session import _with_java_message
from assay_reports.verdicts import read_verdicts

START_S = 240.0
Printed = pytest.CaptureFixture[str]
Spoil = Callable[[Path], object]


def part(ledger: Path) -> Path:
    return next((ledger / "delivery").glob("*.parquet"))


def spoil(ledger: Path, change: Callable[[Any], Any]) -> None:
    pq.write_table(change(pq.read_table(part(ledger))), part(ledger))


def of_another_version(ledger: Path) -> None:
    spoil(ledger, lambda rows: rows.replace_schema_metadata({VERSION_KEY: b"2.0"}))


def with_a_column_more(ledger: Path) -> None:
    spoil(
        ledger,
        lambda rows: rows.append_column("colour", rows.column("t")).replace_schema_metadata(rows.schema.metadata),
    )


def with_wrong_certificates(ledger: Path) -> None:
    def change(rows: Any) -> Any:
        place = rows.schema.get_field_index("gap")
        wrong = pc.bit_wise_xor(rows.column(place), pa.scalar(1, rows.schema.field(place).type))
        return rows.set_column(place, rows.schema.field(place), wrong)

    spoil(ledger, change)


def with_a_hole(ledger: Path) -> None:
    content = bytearray(part(ledger).read_bytes())
    content[4:400] = bytes(396)
    part(ledger).write_bytes(content)


@pytest.mark.parametrize("command", [["reconcile"], ["ledger", "show"], ["ledger", "audit"]])
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (shutil.rmtree, "no such folder; expected a ledger"),
        (lambda ledger: shutil.rmtree(ledger / "ack"), "the table ack is missing; expected a folder of that name"),
        (lambda ledger: (ledger / "topic.parquet").unlink(), "the table topic is missing; expected topic.parquet"),
        (of_another_version, "written in schema 2.0, while the ledger is of 1."),
        (with_a_column_more, "unknown column colour; the table delivery has none of that name"),
    ],
)
def test_what_is_no_ledger_of_one_version_is_refused(
    command: list[str], change: Spoil, sentence: str, tmp_path: Path, capsys: Printed
) -> None:
    where = write(tmp_path / "ledger", pack(1, 1), info())
    change(where)
    assert _run([*command, str(where)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith(f"assay: {where}")
    assert sentence in said[0]


@pytest.mark.parametrize("command", [["reconcile"], ["reconcile", "--audit", "full"], ["ledger", "audit", "--full"]])
def test_wrong_certificates_are_an_error_of_ours_and_nothing_is_judged(
    command: list[str], tmp_path: Path, capsys: Printed
) -> None:
    where = write(tmp_path / "ledger", pack(1, 1), info())
    with_wrong_certificates(where)
    assert _run([*command, str(where)]) == 4
    assert f"certificates of {where} are wrong; write the ledger again" in capsys.readouterr().err
    assert not (where / "verdicts.json").exists()


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--master", "spark://127.0.0.1:9"], 3, "--master spark://127.0.0.1:9 cannot be reached"),
        (["--master", "spark://nowhere"], 2, "--master spark://nowhere: expected spark://HOST:PORT"),
        (["--master", "spark:/nowhere"], 2, "--master spark:/nowhere: expected local[*], spark://HOST:PORT, yarn or"),
        (["--spill", "/proc"], 2, "--spill /proc: no folder for what spills can be made there"),
        (["--conf", "spark.x"], 2, "--conf spark.x: expected KEY=VALUE"),
        (["--report", "/proc/none"], 2, "/proc/none: cannot be written: No such file"),
        (["--memory", "banana"], 2, "--memory banana: expected a size with its unit, as 2g or 1500m"),
    ],
)
def test_where_spark_cannot_run_is_said_before_it_tries(
    options: list[str], code: int, sentence: str, tmp_path: Path, capsys: Printed
) -> None:
    where = write(tmp_path / "ledger", pack(1, 1), info())
    assert _run(["reconcile", str(where), *options]) == code
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"assay: {sentence}")


@pytest.mark.long
def test_value_that_spark_refuses_is_named(tmp_path: Path) -> None:
    where = write(tmp_path / "ledger", pack(1, 1), info())
    # A process of its own: the JVM of all tests stays where it is.
    command = command_line("reconcile", str(where), "--conf", "spark.sql.shuffle.partitions=banana")
    ran = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 2
    assert "Spark refuses a value: " in ran.stderr.splitlines()[-1]
    assert "'banana'" in ran.stderr.splitlines()[-1]


@pytest.fixture
def one_session(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands use the session of all tests: a JVM of its own would say the same."""
    monkeypatch.setattr("assay_reports.spark.session.spark_session", lambda *_: nullcontext(spark))


def verdicts(ledger: Path) -> dict[str, Verdict]:
    found = read_verdicts((ledger / "verdicts.json").read_bytes(), "verdicts.json")
    return {str(row.requirement): row.verdict for row in found.requirements}


def test_what_java_raises_is_told_as_long_as_there_is_one(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"Spark failed: .*IndexOutOfBounds"), _with_java_message(tmp_path):
        spark.sparkContext._jvm.java.util.ArrayList().get(3)
    with pytest.raises(HarnessError, match=r"Spark failed: .*TABLE_OR_VIEW_NOT_FOUND"), _with_java_message(tmp_path):
        spark.sql("select * from nothing")


@pytest.mark.usefixtures("one_session")
def test_an_empty_ledger_has_no_verdict(tmp_path: Path, capsys: Printed) -> None:
    where = write(tmp_path / "ledger", Packed(), info())
    assert _run(["reconcile", str(where)]) == 3
    assert set(verdicts(where).values()) == {Verdict.UNTESTABLE}
    assert f"{clauses.LOST}: its precondition never occurred" in capsys.readouterr().out


@pytest.mark.one_in(2)
@pytest.mark.usefixtures("one_session")
def test_a_damaged_part_is_named_and_the_rest_is_judged(tmp_path: Path, capsys: Printed) -> None:
    where = write(tmp_path / "ledger", pack(1, 6), info())
    with_a_hole(where)
    assert _run(["reconcile", str(where)]) == 3
    named = f"{where}/delivery/{part(where).name}: its rows cannot be read; the file is damaged"
    assert named in " ".join(capsys.readouterr().out.split())
    assert set(verdicts(where).values()) == {Verdict.INCONCLUSIVE}


@pytest.mark.few(1)
@pytest.mark.usefixtures("one_session")
@pytest.mark.parametrize("table", ["topic", "stream", "subscription"])
def test_rows_of_what_no_small_table_has_are_not_passed_over(table: str, tmp_path: Path, capsys: Printed) -> None:
    where = write(tmp_path / "ledger", pack(1, 6, DEFECTS), info())
    small = where / f"{table}.parquet"
    pq.write_table(pq.read_table(small).slice(1), small)
    assert _run(["reconcile", str(where)]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(f"assay: {where}: the table {table} has no row 0, of which other rows speak")


@pytest.mark.usefixtures("one_session")
def test_clocks_that_do_not_agree_are_told_and_decide_no_bound_of_time(tmp_path: Path, capsys: Printed) -> None:
    run, where = Run(tmp_path / "segments", type="Shared"), tmp_path / "ledger"
    run.stream(0)
    run.sent(0, 0, 5 * S, 1)
    run.got(0, 0, 3 * S, 1)
    run.sent(0, 1, 6 * S, 2, deliver_at=20 * S)
    run.got(0, 1, 15 * S, 2)
    run.close()
    assert _run(["ledger", "ingest", str(run.folder), "--out", str(where)]) == 0
    assert "the clocks of sender and receiver do not agree" in capsys.readouterr().err
    assert _run(["reconcile", str(where)]) == 3
    assert verdicts(where)[clauses.DUE] is Verdict.INCONCLUSIVE
    assert Verdict.FAIL not in verdicts(where).values()


@pytest.mark.usefixtures("one_session")
def test_a_segment_of_noise_is_said_and_nothing_is_proven(tmp_path: Path, capsys: Printed) -> None:
    run, where = Run(tmp_path / "segments"), tmp_path / "ledger"
    run.stream(0)
    for seq in range(3):
        run.sent(0, seq, (1 + seq) * S, 1 + seq)
    run.close()
    (run.folder / "receiver.seg").write_bytes(bytes(1000))
    assert _run(["ledger", "ingest", str(run.folder), "--out", str(where)]) == 0
    assert "receiver.seg: the block at byte 0 cannot be read, 1000 bytes dropped" in capsys.readouterr().err
    assert _run(["reconcile", str(where)]) == 3
    assert not {*verdicts(where).values()} & {Verdict.FAIL, Verdict.PASS}
    assert "some of what receiver wrote cannot be read" in " ".join(capsys.readouterr().out.split())


# --- no space -------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    size = f"size={2 * LEAST_FREE_SPARK_BYTES}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", mounted], check=True)
    yield mounted
    subprocess.run(["umount", mounted], check=True)


def no_space(code: int, capsys: Printed, spill: Path) -> None:
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("assay:")]
    assert (code, len(said)) == (4, 1)
    assert said[0].startswith(f"assay: no space left for what Spark spills to {spill}")
    assert said[0].endswith("name a roomier folder with --spill, or make room")


def test_a_full_disk_is_told_before_spark_starts(
    tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = write(tmp_path / "ledger", pack(1, 1), info())
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=LEAST_FREE_SPARK_BYTES - 1))
    no_space(_run(["reconcile", str(where), "--spill", str(tmp_path)]), capsys, tmp_path)


@pytest.mark.long
@needs(Need.ROOT)
def test_a_disk_that_fills_up_meanwhile_is_one_sentence_and_nothing_is_left_on_it(
    small_disk: Path, tmp_path: Path
) -> None:
    where, somebodys = write(tmp_path / "ledger", pack(1, 6), info()), small_disk / "somebody's"
    # A process of its own: the JVM of all tests stays where it is.
    command = command_line("reconcile", str(where), "--spill", str(small_disk))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        eventually(lambda: is_in(small_disk, "blockmgr*"), "a session that has begun", START_S)
        with somebodys.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(1 << 16)):
                pass
        told = process.communicate()[1].splitlines()
    assert process.returncode == 4
    assert told[-1].startswith(f"assay: no space left for what Spark spills to {small_disk}")
    assert list(small_disk.iterdir()) == [somebodys]


# --- what is to be watched ------------------------------------------------------------------------------------------


def test_who_watches_what_nobody_begins_hears_why_at_once_and_again_at_the_end(tmp_path: Path, capsys: Printed) -> None:
    where = tmp_path / "none"
    assert _run(["watch", str(where), "--wait", "0.3"]) == 2
    why = f"{where}: no such folder; expected a ledger, as `assay ledger` writes one"
    assert capsys.readouterr().err.splitlines() == [f"{why}; waiting for 0 s at most", f"assay: {why}"]


def test_a_file_is_not_waited_for_to_become_a_ledger(
    tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LEDGER_BEGINS_S", 0.0)
    (tmp_path / "file").write_bytes(b"")
    assert _run(["watch", str(tmp_path / "file"), "--wait", "3600"]) == 2
    assert "file: is no folder; expected a ledger" in capsys.readouterr().err


def test_a_spoiled_ledger_is_not_waited_for_as_if_it_were_to_come(
    tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LEDGER_BEGINS_S", 0.0)
    where = write(tmp_path / "ledger", Packed(), info())
    (where / "topic.parquet").unlink()
    assert _run(["watch", str(where), "--wait", "3600"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"assay: {where}: the table topic is missing")
