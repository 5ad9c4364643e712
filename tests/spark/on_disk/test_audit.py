"""The audit: it finds a certificate that is wrong, nothing where all are right, of all rows or of the first."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.spark.on_disk.test_ingest import Run, S, ingested, wild

from assay_conformance.ledger.tables import DELIVERY, Table
from assay_reports.ledgers import audit as audits
from assay_reports.ledgers.audit import audit
from assay_reports.ledgers.opening import Ledger, open_ledger

FEW = 40


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audits, "SAMPLE_ROWS", FEW)


def spoilt(ledger: Ledger, table: Table, column: str, value: int, which: int) -> Ledger:
    """With another value in the row that is so far from the beginning (of the writing) that `which` says."""
    path = ledger.paths(table.name)[0]
    rows = pq.read_table(path).to_pylist()
    rows.sort(key=lambda row: row["pos"])
    rows[which][column] = value
    content = pq.read_table(path)
    pq.write_table(type(content).from_pylist(rows, content.schema), path)
    return open_ledger(ledger.where)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("seed", range(8))
def test_the_beginning_of_a_run_has_the_certificates_it_has_in_the_whole_run(tmp_path: Path, seed: int) -> None:
    run = Run(tmp_path / "segments", ahead_us=seed * S)
    run.stream(0)
    wild(run, seed, 600)
    ledger, _ = ingested(run.folder)
    told = audit(ledger)
    assert told.differences == ()
    assert FEW < told.rows <= 2 * FEW


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("which", "full", "differing"), [(3, False, 1), (-1, False, 0), (-1, True, 1)])
def test_a_wrong_certificate_is_found_where_it_is_looked_for(
    tmp_path: Path, which: int, full: bool, differing: int
) -> None:
    run = Run(tmp_path / "segments")
    run.stream(0)
    for seq in range(2 * FEW):
        run.sent(0, seq, 1000 * (seq + 1), seq)
        run.got(0, seq, 1000 * (seq + 1) + 500, seq)
    run.close()
    ledger, _ = ingested(run.folder)
    assert audit(spoilt(ledger, DELIVERY, "gap", 7, which), full).differing == differing


def test_the_order_of_what_was_heard_in_one_microsecond_is_not_in_question(tmp_path: Path) -> None:
    run = Run(tmp_path / "segments")
    run.stream(0)
    for seq in (1, 0, 2):
        run.sent(0, seq, 1000, seq)
    run.close()
    ledger, _ = ingested(run.folder)
    assert audit(ledger, full=True).differences == ()
