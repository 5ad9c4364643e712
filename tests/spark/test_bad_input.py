"""What cannot be judged: one sentence that says what and where, and the exit code of its kind."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.spark.histories import Packed, info, pack
from tests.spark.ledgers import write

from assay_fixtures.cli import _run
from assay_fixtures.cli.reconcile import judge
from assay_reports.ledgers.layout import VERSION_KEY
from assay_reports.spark import watch

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


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--master", "spark://127.0.0.1:9"], 3, "--master spark://127.0.0.1:9 cannot be reached"),
        (["--master", "spark://nowhere"], 2, "--master spark://nowhere: expected spark://HOST:PORT"),
        (["--master", "spark:/nowhere"], 2, "--master spark:/nowhere: expected local[*], spark://HOST:PORT, yarn or"),
        (["--spill", "/proc"], 2, "--spill /proc: no folder for what spills can be made there"),
        (["--conf", "spark.x"], 2, "--conf spark.x: expected KEY=VALUE"),
    ],
)
def test_where_spark_cannot_run_is_said_before_it_tries(
    options: list[str], code: int, sentence: str, tmp_path: Path, capsys: Printed
) -> None:
    where = write(tmp_path / "ledger", pack(1, 1), info())
    assert _run(["reconcile", str(where), *options]) == code
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"assay: {sentence}")


def test_an_empty_ledger_has_no_verdict(spark: Any, tmp_path: Path) -> None:
    where = write(tmp_path / "ledger", Packed(), info())
    assert judge(spark, str(where), tmp_path / "out")[0] == 3


def test_a_damaged_part_is_named_and_the_rest_is_judged(spark: Any, tmp_path: Path, capsys: Printed) -> None:
    where = write(tmp_path / "ledger", pack(1, 6), info())
    with_a_hole(where)
    code, found = judge(spark, str(where), tmp_path / "out")
    assert (code, [bad.file for bad in found.bad]) == (3, [f"delivery/{part(where).name}"])
    assert f"delivery/{part(where).name}: its rows cannot be read; the file is damaged" in capsys.readouterr().out


# --- what is to be watched ------------------------------------------------------------------------------------------


def test_who_watches_what_nobody_begins_hears_why_at_once_and_again_at_the_end(tmp_path: Path, capsys: Printed) -> None:
    where = tmp_path / "none"
    assert _run(["watch", str(where), "--wait", "0.3"]) == 2
    why = f"{where}: no such folder; expected a ledger, as `assay ledger` writes one"
    assert capsys.readouterr().err.splitlines() == [f"{why}; waiting for 0 s at most", f"assay: {why}"]


def test_a_spoiled_ledger_is_not_waited_for_as_if_it_were_to_come(
    tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "BEGINS_WITHIN_S", 0.0)
    where = write(tmp_path / "ledger", Packed(), info())
    (where / "topic.parquet").unlink()
    assert _run(["watch", str(where), "--wait", "3600"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"assay: {where}: the table topic is missing")
