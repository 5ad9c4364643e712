"""Rows that changed after they were written: Spark reads none of them as if they were sound, and the part is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.spark.damaging import flip
from tests.spark.histories import info, pack
from tests.spark.ledgers import write

from assay_conformance.catalogue import load
from assay_conformance.ledger.tables import ATTEMPT
from assay_conformance.model.verdict import Verdict
from assay_fixtures.cli import _run
from assay_reports.ledgers.opening import open_ledger
from assay_reports.spark import views
from assay_reports.spark.reconcile import reconcile

NAMED = "its rows cannot be read; the file is damaged"
Printed = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def one_session(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands use the session of all tests: a JVM of its own would say the same."""
    monkeypatch.setattr("assay_reports.spark.session.spark_session", lambda *_: nullcontext(spark))


@pytest.fixture
def lenient(spark: Any) -> Iterator[None]:
    """A session that was told to pass over files that it cannot read."""
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    yield
    spark.conf.unset("spark.sql.files.ignoreCorruptFiles")


def test_a_page_that_only_its_checksum_gives_away_is_not_read(spark: Any, tmp_path: Path) -> None:
    where = write(tmp_path / "ledger", pack(1, 6), info())
    (part,) = (where / "attempt").glob("*.parquet")
    # Neither a codec nor an encoding sees anything wrong with other bytes.
    pq.write_table(pq.read_table(part), part, compression="none", use_dictionary=False, write_page_checksum=True)
    flip(part, "crc")
    rows = views.read(spark, ATTEMPT, [views.location(str(where), f"attempt/{part.name}")])
    assert rows.selectExpr("count(seq) n").first().n > 0
    with pytest.raises(Exception, match=r"(?s)reading file.*" + part.name):
        rows.selectExpr("sum(crc)").first()


UNREAD = {"attempt": "size", "outcome": "batch", "delivery": "crc", "ack": "entry", "stored": "crc"}
"""Columns that no query of a clean ledger reads."""


@pytest.mark.usefixtures("lenient")
def test_reconcile_names_a_part_of_which_a_column_changed_that_no_query_reads(spark: Any, tmp_path: Path) -> None:
    where = write(tmp_path / "ledger", pack(1, 6), info())
    for table, column in UNREAD.items():
        (part,) = (where / table).glob("*.parquet")
        flip(part, column)
    found = reconcile(spark, open_ledger(str(where)), load())
    assert {(part.table, part.reason[: len(NAMED)]) for part in found.bad} == {(table, NAMED) for table in UNREAD}
    assert {row.verdict for row in found.verdicts} == {Verdict.INCONCLUSIVE}


@pytest.mark.one_in(2)
def test_watch_names_what_changed_when_it_says_its_last_word(tmp_path: Path, capsys: Printed) -> None:
    where = write(tmp_path / "ledger", pack(1, 6), info())
    (part,) = (where / "stored").glob("*.parquet")
    flip(part, "crc")
    assert _run(["watch", str(where)]) == 3
    assert f"stored/{part.name}: {NAMED}" in " ".join(capsys.readouterr().out.split())


@pytest.mark.one_in(3)
def test_a_part_that_changed_behind_its_fold_is_found_where_its_rows_are_read(tmp_path: Path, capsys: Printed) -> None:
    where = write(tmp_path / "ledger", pack(1, 6), info())
    assert _run(["reconcile", str(where)]) in (0, 1, 3)
    (part,) = (where / "delivery").glob("*.parquet")
    flip(part, "seq", keep_time=True)
    capsys.readouterr()
    assert _run(["reconcile", str(where), "--audit", "none"]) == 3
    assert f"delivery/{part.name}: {NAMED}" in " ".join(capsys.readouterr().out.split())


@pytest.mark.one_in(3)
def test_a_fold_that_changed_is_made_again(tmp_path: Path) -> None:
    where = write(tmp_path / "ledger", pack(1, 6), info())
    first = _run(["reconcile", str(where)])
    verdicts = (where / "verdicts.json").read_bytes()
    folds = sorted((where / "fold").rglob("*.parquet"))
    for fold in folds:
        if pq.read_metadata(fold).num_rows:
            flip(fold, pq.read_metadata(fold).schema.names[0])
    assert _run(["reconcile", str(where)]) == first
    assert (where / "verdicts.json").read_bytes() == verdicts
    assert sorted((where / "fold").rglob("*.parquet")) != folds
    assert open_ledger(str(where)).bad == ()
