"""Where a ledger lies: whatever Spark and Arrow both have a name for; and a finding's own rows in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.spark.histories import DEFECTS, info, pack
from tests.spark.ledgers import write

from assay_conformance.catalogue import load
from assay_conformance.ledger.collection import sums
from assay_conformance.ledger.judge import judge_rows
from assay_conformance.ledger.tables import PARTS
from assay_conformance.model.errors import UsageError
from assay_reports.ledgers.opening import open_ledger
from assay_reports.spark import views
from assay_reports.spark.reconcile import reconcile


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("s3://bucket/soak", "s3a://bucket/soak/delivery/w0-0.parquet"),
        ("hdfs://name:8020/soak/", "hdfs://name:8020/soak/delivery/w0-0.parquet"),
        ("gs://bucket/soak", "gs://bucket/soak/delivery/w0-0.parquet"),
        ("/soaks/night [1]", r"file:/soaks/night \[1\]/delivery/w0-0.parquet"),
    ],
)
def test_a_part_is_named_as_spark_names_it(where: str, place: str) -> None:
    assert views.location(where, "delivery/w0-0.parquet") == place


@pytest.mark.long
def test_folds_lie_beside_a_ledger_whose_name_looks_like_a_pattern(spark: Any, tmp_path: Path) -> None:
    where = write(tmp_path / "night [1] *", pack(31, 3), info())
    reconcile(spark, open_ledger(str(where)), load())
    assert list((where / "fold").glob("delivery/*/words"))
    assert list(tmp_path.iterdir()) == [where]


def closed(where: Path, seed: int, histories: int = 3) -> Path:
    """A ledger beside which no folds can be written, whoever tries."""
    write(where, pack(seed, histories), info())
    (where / "fold").write_text("no folder")
    return where


@pytest.mark.one_in(3)
def test_a_ledger_that_can_only_be_read_is_judged_and_folded_once(spark: Any, tmp_path: Path) -> None:
    where, aside = closed(tmp_path / "ledger", 32), tmp_path / "aside"
    first, again = (reconcile(spark, open_ledger(str(where)), load(), aside=aside, recount=True) for _ in range(2))
    rows, small = pack(32, 3).rows(), pack(32, 3).smalls()
    assert first.verdicts == again.verdicts == judge_rows(rows, small, info(), sums(rows, small, info()), load())
    assert first.folded_now == sum(map(len, rows))
    assert again.folded_now == 0
    assert Path(again.folds_aside).parent == aside
    assert list(Path(again.folds_aside).glob("fold/delivery/*/words"))


@pytest.mark.long
def test_ledgers_that_can_only_be_read_never_meet_in_their_folds(spark: Any, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    ledgers = [closed(tmp_path / name / "ledger", 33) for name in ("one", "other")]
    found = [reconcile(spark, open_ledger(str(where)), load(), aside=aside) for where in ledgers]
    assert found[0].folds_aside != found[1].folds_aside
    assert found[1].folded_now == found[0].folded_now


@pytest.mark.one_in(2)
def test_folds_lie_beside_a_ledger_that_can_be_written(spark: Any, tmp_path: Path) -> None:
    where = write(tmp_path / "ledger", pack(34, 1), info())
    found = reconcile(spark, open_ledger(str(where)), load(), aside=tmp_path / "aside")
    assert not found.folds_aside
    assert not (tmp_path / "aside").exists()


def test_a_place_that_nobody_knows_is_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"ftp2://host/soak: cannot be reached: .+"):
        open_ledger("ftp2://host/soak")


@pytest.mark.long
def test_a_ledger_under_a_uri_is_judged_as_in_a_folder_and_its_findings_bring_back_their_rows(
    spark: Any, tmp_path: Path
) -> None:
    packed = pack(30, 12, DEFECTS)
    where = write(tmp_path / "ledger", packed, info(), seed=30)
    found = reconcile(spark, open_ledger(where.as_uri()), load())
    rows, small = packed.rows(), packed.smalls()
    assert found.verdicts == judge_rows(rows, small, info(), sums(rows, small, info()), load())
    assert list((where / "fold").glob("delivery/*.json"))
    conditions = {finding.rows for verdict in found.verdicts for finding in verdict.findings if finding.rows}
    assert len(conditions) > 5
    for condition in conditions:
        counts = (
            duckdb.sql(f"select count(*) from '{where}/{table.name}/*.parquet' where {condition}") for table in PARTS
        )
        assert sum(row[0] for count in counts for row in count.fetchall()) > 0
