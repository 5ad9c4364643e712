"""What stands where a file of a ledger, a log or a segment is expected is read if it is a regular file of a size that
was expected, and is named if not; no name is taken for another kind of place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay_conformance.ledger.rows import Topic
from assay_conformance.ledger.script import some_info
from assay_conformance.ledger.tables import STORED, TOPIC
from assay_conformance.model.errors import UsageError
from assay_reports.bounds import MOST_FILE_BYTES, MOST_SMALL_CELLS
from assay_reports.ledgers.ingest.reading import SegmentFile
from assay_reports.ledgers.ingest.unnamed import info_beside
from assay_reports.ledgers.layout import INFO, create, schema, write_small, write_smalls
from assay_reports.ledgers.mapping.logs import batches
from assay_reports.ledgers.opening import is_begun, open_ledger
from assay_reports.ledgers.places import place


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 20 << 30)


def _loop(path: Path) -> None:
    path.symlink_to(path)


PLACES: dict[str, Callable[[Path], None]] = {
    "a FIFO": os.mkfifo,
    "a device": _device,
    "a folder": Path.mkdir,
    "a sparse file": _sparse,
    "a link to itself": _loop,
}
put_there = pytest.mark.parametrize("put", PLACES.values(), ids=PLACES)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Empty, but whole."""
    create(tmp_path / "ledger", some_info())
    write_smalls(tmp_path / "ledger", {})
    return tmp_path / "ledger"


@put_there
def test_what_is_no_ledger_json_is_refused(ledger: Path, put: Callable[[Path], None]) -> None:
    (ledger / INFO).unlink()
    put(ledger / INFO)
    with pytest.raises(UsageError, match=r"no ledger\.json that can be read"):
        open_ledger(str(ledger))


@pytest.mark.parametrize("put", [PLACES["a FIFO"], PLACES["a device"], PLACES["a folder"]])
def test_ledger_that_is_none_is_not_waited_for(ledger: Path, put: Callable[[Path], None]) -> None:
    (ledger / INFO).unlink()
    put(ledger / INFO)
    assert is_begun(str(ledger))


@put_there
def test_what_is_no_small_table_is_refused(ledger: Path, put: Callable[[Path], None]) -> None:
    (ledger / "topic.parquet").unlink()
    put(ledger / "topic.parquet")
    with pytest.raises(UsageError, match=r"topic\.parquet|the table topic is missing"):
        open_ledger(str(ledger))


@put_there
def test_what_is_no_part_is_named_and_not_passed_over(ledger: Path, put: Callable[[Path], None]) -> None:
    put(ledger / STORED.name / "w0-000000.parquet")
    assert [part.file for part in open_ledger(str(ledger)).bad] == ["stored/w0-000000.parquet"]


@put_there
@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.parquet"])
def test_what_is_no_log_is_refused(tmp_path: Path, name: str, put: Callable[[Path], None]) -> None:
    put(tmp_path / name)
    with pytest.raises(UsageError, match=name):
        list(batches(tmp_path / name, {"who": "who"}))


def test_a_line_that_goes_on_and_on_is_not_read_to_its_end(tmp_path: Path) -> None:
    with (log := tmp_path / "log.csv").open("w") as file:
        file.write("who\n")
        file.truncate(20 << 30)
    with pytest.raises(UsageError, match=f"has a line of more than {MOST_FILE_BYTES} bytes; expected a log"):
        list(batches(log, {"who": "who"}))


@pytest.mark.parametrize("put", [PLACES[name] for name in ("a FIFO", "a device", "a folder", "a link to itself")])
def test_what_is_no_segment_is_refused(tmp_path: Path, put: Callable[[Path], None]) -> None:
    put(tmp_path / "w.seg")
    with pytest.raises(UsageError, match=r"w\.seg: .*; expected a segment file"):
        SegmentFile(tmp_path / "w.seg").opened(final=True)


def test_folder_that_is_a_link_to_itself_has_no_segments(tmp_path: Path) -> None:
    _loop(tmp_path / "night")
    with pytest.raises(UsageError, match="night: expected a folder with segments"):
        info_beside([tmp_path / "night"], "0")


@pytest.mark.parametrize("name", ["profile:", "file:ledger", "s3:bucket", "C:"])
def test_a_name_that_looks_like_a_uri_is_a_folder_here(
    ledger: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(ledger.parent)
    with pytest.raises(UsageError, match=f"{name}: no such folder"):
        open_ledger(name)
    ledger.rename(ledger.parent / name)
    assert open_ledger(name).rows(STORED.name) == 0


@pytest.mark.parametrize("where", ["nowhere://bucket/x", "http://[bad", "a\udcffb", "a\0b"])
def test_a_place_that_cannot_be_named_is_refused(where: str) -> None:
    with pytest.raises(UsageError, match="cannot be reached: "):
        place(where)


def test_a_small_table_of_a_few_bytes_and_many_rows_is_refused(ledger: Path) -> None:
    rows = MOST_SMALL_CELLS // len(TOPIC.columns) + 1
    columns = [pa.array(["a"] if field.name == "name" else [0]).cast(field.type) for field in schema(TOPIC)]
    table = pa.Table.from_arrays(columns, schema=schema(TOPIC)).take(np.zeros(rows, np.int32))
    pq.write_table(table, ledger / "topic.parquet")
    assert (ledger / "topic.parquet").stat().st_size < 1 << 20
    with pytest.raises(UsageError, match=f"has {rows} rows; expected at most {rows - 1}"):
        open_ledger(str(ledger))


def test_a_text_in_many_rows_is_held_once(ledger: Path) -> None:
    write_small(ledger, TOPIC, [Topic(number, "a" * 1_000) for number in range(1_000)])
    topics = open_ledger(str(ledger)).small["topic"]
    assert {topic.name for topic in topics} == {"a" * 1_000}
    assert len({id(topic.name) for topic in topics}) == 1
