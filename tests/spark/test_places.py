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


def test_folds_lie_beside_a_ledger_whose_name_looks_like_a_pattern(spark: Any, tmp_path: Path) -> None:
    where = write(tmp_path / "night [1] *", pack(31, 3), info())
    reconcile(spark, open_ledger(str(where)), load())
    assert list((where / "fold").glob("delivery/*/words"))
    assert list(tmp_path.iterdir()) == [where]


def test_a_place_that_nobody_knows_is_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"ftp2://host/soak: cannot be reached: .+"):
        open_ledger("ftp2://host/soak")


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
