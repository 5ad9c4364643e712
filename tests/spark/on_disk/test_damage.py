"""Every byte of a ledger's rows is covered: what changed after it was written is named, whichever column it is in."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.damaging import flip
from tests.spark.histories import DEFECTS, info, pack
from tests.spark.ledgers import write

import assay_reports
from assay_conformance.ledger.tables import PARTS, SMALL
from assay_conformance.model.errors import UsageError
from assay_fixtures.cli import _run
from assay_reports.ledgers.opening import open_ledger
from assay_reports.ledgers.parquet import damage

COLUMNS = [(table.name, column.name) for table in PARTS for column in table.columns]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("sound") / "ledger", pack(1, 6, DEFECTS), info())


@pytest.fixture
def ledger(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "ledger"))


def part(ledger: Path, table: str) -> Path:
    return next((ledger / table).glob("*.parquet"))


def test_nothing_is_wrong_with_what_was_written(sound: Path) -> None:
    opened = open_ledger(str(sound))
    assert list(opened.damaged(part for parts in opened.parts.values() for part in parts)) == []


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_column_that_changed_is_named(ledger: Path, table: str, column: str) -> None:
    damaged = part(ledger, table)
    flip(damaged, column)
    opened = open_ledger(str(ledger))
    (named,) = opened.damaged(part for parts in opened.parts.values() for part in parts)
    assert (named.table, named.file) == (table, f"{table}/{damaged.name}")
    assert named.reason.startswith("its rows cannot be read; the file is damaged: ")


@pytest.mark.parametrize("table", [table.name for table in PARTS])
def test_a_full_audit_refuses_a_damaged_part_of_any_table(
    ledger: Path, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = part(ledger, table)
    flip(damaged, "seq")
    assert _run(["ledger", "audit", str(ledger), "--full"]) == 3
    assert f"{table}/{damaged.name}: its rows cannot be read; the file is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("column", ["t", "ord"])
def test_an_audit_of_a_sample_names_the_part_whose_rows_it_needs(
    ledger: Path, column: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = part(ledger, "outcome")
    flip(damaged, column)
    assert _run(["ledger", "audit", str(ledger)]) == 3
    assert f"outcome/{damaged.name}: " in capsys.readouterr().err


@pytest.mark.parametrize("table", [table.name for table in SMALL if table.name not in ("epoch", "key")])
def test_a_small_table_that_changed_is_refused(ledger: Path, table: str) -> None:
    file = ledger / f"{table}.parquet"
    flip(file, pq.read_metadata(file).schema.names[0])
    with pytest.raises(UsageError, match=rf"{table}\.parquet cannot be read, and nothing means anything without it"):
        open_ledger(str(ledger))


def test_statistics_that_rows_do_not_have_are_damage_for_they_decide_what_is_skipped() -> None:
    file = io.BytesIO()
    pq.write_table(pa.table({"seq": pa.array([7, 1_234_567_890_123], pa.int64())}), file, write_page_checksum=True)
    content = file.getvalue()
    greatest = (1_234_567_890_123).to_bytes(8, "little")
    at = content.rindex(greatest)
    spoiled = content[:at] + (1_234_567_890_999).to_bytes(8, "little") + content[at + len(greatest) :]
    assert damage(io.BytesIO(content)) == ""
    assert "column seq has values from 7 to 1234567890123, and the footer says" in damage(io.BytesIO(spoiled))


def test_one_module_reads_parquet_for_it_verifies_checksums() -> None:
    readers = re.compile(r"\b(pq|parquet|ds|dataset)\.(read_\w+|ParquetFile|ParquetDataset|dataset)\(")
    package = Path(assay_reports.__file__).parent
    reading = {
        path.relative_to(package).as_posix() for path in package.rglob("*.py") if readers.search(path.read_text())
    }
    assert reading == {"ledgers/parquet.py"}
