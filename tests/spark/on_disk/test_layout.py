"""What a ledger holds is read again; what is wrong with one is said in one sentence that names the file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from assay_conformance.ledger.info import Acking, Origin
from assay_conformance.ledger.rows import Ack, Topic
from assay_conformance.ledger.script import some_info
from assay_conformance.ledger.tables import ACK, DELIVERY, NONE, OUTCOME, STORED, TABLES, TOPIC, Table
from assay_conformance.model.errors import UsageError
from assay_conformance.model.schema import CURRENT, FileKind
from assay_reports.ledgers.display import print_ledger
from assay_reports.ledgers.layout import GROUP_ROWS, INFO, NULL, PartWriter, create, schema, write_small, write_smalls
from assay_reports.ledgers.opening import open_ledger

INFO_OF_A_RUN = some_info(origin=Origin.SYNTH, seed=1)


def stored(count: int, start: int = 0) -> dict[str, object]:
    columns: dict[str, object] = {column.name: np.zeros(count, np.int64) for column in STORED.columns}
    return columns | {"seq": np.arange(start, start + count)}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Empty, but whole."""
    create(tmp_path / "ledger", INFO_OF_A_RUN)
    write_smalls(tmp_path / "ledger", {})
    return tmp_path / "ledger"


def write(ledger: Path, table: Table, columns: dict[str, object], **options: int) -> None:
    parts = PartWriter(ledger, table, 0, **options)  # type: ignore[arg-type]
    parts.add(columns)
    parts.close()


def test_rows_are_read_as_they_were_written(ledger: Path) -> None:
    columns = {column.name: np.array([7, 8]) for column in ACK.columns} | {"t_done": np.array([9, NULL])}
    write(ledger, ACK, columns)
    rows = list(open_ledger(str(ledger)).read(ACK))
    assert rows == [Ack(7, 7, 7, 7, 7, 7, 7, 7, 7, 9), Ack(8, 8, 8, 8, 8, 8, 8, 8, 8, None)]


def test_small_tables_are_read_as_they_were_written(ledger: Path) -> None:
    topics = (Topic(0, "a"), Topic(1, "b", dedup=1))
    write_small(ledger, TOPIC, topics)
    assert open_ledger(str(ledger)).small["topic"] == topics


def contract(ledger: Path, **fields: object) -> None:
    path = ledger / INFO
    told = json.loads(path.read_bytes())
    path.write_text(json.dumps({name: value for name, value in (told | fields).items() if value is not None}))


def test_a_ledger_that_was_written_before_it_knew_of_acknowledgments_is_read(ledger: Path) -> None:
    contract(ledger, acking=None)
    assert open_ledger(str(ledger)).info.acking == Acking()


@pytest.mark.parametrize(
    ("told", "wrong"),
    [({"agent": 3}, "Expected `str`, got `int`"), ({"agent": ""}, "length >= 1"), ({"": "3"}, "length >= 1")],
)
def test_versions_that_say_nothing_are_refused(ledger: Path, told: dict[str, object], wrong: str) -> None:
    contract(ledger, versions=told)
    with pytest.raises(UsageError, match=rf"ledger\.json: .*{wrong}.*\$\.versions"):
        open_ledger(str(ledger))


def test_a_ledger_says_what_else_had_a_part_in_its_run(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contract(ledger, versions={"agent": "pulsar-python", "order-service": "7.3.1"})
    print_ledger(Console(width=200), open_ledger(str(ledger)))
    assert "; agent: pulsar-python; order-service: 7.3.1\n" in capsys.readouterr().out


def test_a_time_that_none_can_be_is_refused(ledger: Path) -> None:
    contract(ledger, grace_us=-5)
    with pytest.raises(UsageError, match=r"ledger\.json: Expected `int` >= 0 - at `\$.grace_us`"):
        open_ledger(str(ledger))


def test_a_file_is_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="is no folder; expected a ledger"):
        open_ledger(str(tmp_path / "file"))


def test_a_way_to_acknowledge_that_nobody_knows_is_refused(ledger: Path) -> None:
    contract(ledger, acking={"mode": "banana"})
    with pytest.raises(UsageError, match=r"ledger\.json: Invalid enum value 'banana'"):
        open_ledger(str(ledger))


def given(count: int, **columns: int) -> dict[str, object]:
    values = {"gap": 1, "kgap": 1, "wait": NULL, "ok": 1, "key": NONE, **columns}
    made: dict[str, object] = {
        column.name: np.full(count, values.get(column.name, 0), np.int64) for column in DELIVERY.columns
    }
    return made | {"seq": np.arange(count)}


def test_deliveries_that_are_not_plain_lie_apart(ledger: Path) -> None:
    columns = given(10) | {"redeliv": np.arange(10) % 5 == 0, "key": np.arange(10) % 2 - 1}
    write(ledger, DELIVERY, columns)
    with pq.ParquetFile(ledger / "delivery" / "w0-000000.parquet") as part:
        groups = [part.read_row_group(group, ["seq", "plain"]).to_pydict() for group in range(part.num_row_groups)]
    assert groups == [
        {"seq": [1, 2, 3, 4, 6, 7, 8, 9], "plain": [2, 1, 2, 1, 1, 2, 1, 2]},
        {"seq": [0, 5], "plain": [0, 0]},
    ]


def test_a_part_of_nothing_plain_is_a_part(ledger: Path) -> None:
    now = [0.0]
    parts = PartWriter(ledger, DELIVERY, 0, part_s=1.0, clock=lambda: now[0])
    parts.add(given(3, again=1))
    now[0] = 2.0
    parts.roll()
    assert [part.rows for part in open_ledger(str(ledger)).parts["delivery"]] == [3]


def test_parts_end_at_their_number_of_rows(ledger: Path) -> None:
    write(ledger, STORED, stored(25), part_rows=10)
    parts = open_ledger(str(ledger)).parts["stored"]
    assert [(part.file, part.rows) for part in parts] == [
        ("stored/w0-000000.parquet", 10),
        ("stored/w0-000001.parquet", 10),
        ("stored/w0-000002.parquet", 5),
    ]


def test_a_part_ends_at_its_age_whether_rows_come_or_not(ledger: Path) -> None:
    now = [0.0]
    parts = PartWriter(ledger, STORED, 0, part_s=1.0, clock=lambda: now[0])
    parts.add(stored(1))
    parts.roll()
    assert not open_ledger(str(ledger)).parts["stored"]
    now[0] = 1.0
    parts.roll()
    assert open_ledger(str(ledger)).rows("stored") == 1


def test_row_groups_are_sorted_by_stream_and_seq(ledger: Path) -> None:
    columns = stored(2 * GROUP_ROWS) | {"stream": np.arange(2 * GROUP_ROWS) % 2}
    write(ledger, STORED, columns)
    file = pq.ParquetFile(ledger / "stored" / "w0-000000.parquet")
    group = file.read_row_group(0, ["stream", "seq"]).to_pydict()
    pairs = list(zip(group["stream"], group["seq"], strict=True))
    assert (file.num_row_groups, pairs) == (2, sorted(pairs))


def test_copies_of_a_message_stay_in_their_order(ledger: Path) -> None:
    columns = stored(3) | {"seq": np.zeros(3, np.int64), "entry": np.array([5, 3, 4])}
    write(ledger, STORED, columns)
    assert [row.entry for row in open_ledger(str(ledger)).read(STORED)] == [5, 3, 4]


def test_a_part_that_is_still_written_is_not_seen(ledger: Path) -> None:
    parts = PartWriter(ledger, STORED, 0)
    parts.add(stored(GROUP_ROWS))
    assert not open_ledger(str(ledger)).parts["stored"]


def test_a_broken_part_is_named_and_the_rest_is_there(ledger: Path) -> None:
    write(ledger, STORED, stored(20), part_rows=10)
    broken = ledger / "stored" / "w0-000000.parquet"
    broken.write_bytes(broken.read_bytes()[:-9])
    opened = open_ledger(str(ledger))
    assert opened.rows("stored") == 10
    assert [part.file for part in opened.bad] == ["stored/w0-000000.parquet"]


BEYOND = (("seq", 1 << 40), ("seq", -1), ("stream", 1 << 18))


@pytest.mark.parametrize(("column", "value"), BEYOND)
def test_a_number_that_would_share_a_bucket_is_not_written(ledger: Path, column: str, value: int) -> None:
    with pytest.raises(UsageError, match=f"stored: {column} {value} cannot be kept; expected 0 to"):
        write(ledger, STORED, stored(1) | {column: np.array([value])})


@pytest.mark.parametrize(("column", "value"), BEYOND)
def test_a_part_with_such_a_number_is_named(ledger: Path, column: str, value: int) -> None:
    rows = stored(1) | {column: np.array([value])}
    content = pa.Table.from_pydict(rows, schema=schema(STORED))
    pq.write_table(content, ledger / "stored" / "w0-000000.parquet")
    assert [str(part) for part in open_ledger(str(ledger)).bad] == [
        f"stored/w0-000000.parquet: {column} {value} is out of bounds; "
        f"expected 0 to {(1 << (40 if column == 'seq' else 18)) - 1}"
    ]


def test_a_part_that_does_not_tell_its_extremes_is_named(ledger: Path) -> None:
    content = pa.Table.from_pydict(stored(1), schema=schema(STORED))
    pq.write_table(content, ledger / "stored" / "w0-000000.parquet", write_statistics=False)
    assert "expected statistics" in str(open_ledger(str(ledger)).bad[0])


def test_a_ledger_is_not_written_over(ledger: Path) -> None:
    with pytest.raises(UsageError, match="is there already"):
        create(ledger, INFO_OF_A_RUN)


def refused(ledger: Path) -> str:
    with pytest.raises(UsageError) as caught:
        open_ledger(str(ledger))
    return str(caught.value)


def test_no_folder_is_no_ledger(tmp_path: Path) -> None:
    assert "no such folder" in refused(tmp_path / "nowhere")


def test_a_folder_without_ledger_json_is_no_ledger(tmp_path: Path) -> None:
    assert "no ledger.json" in refused(tmp_path)


def test_a_ledger_of_a_newer_major_version_is_refused(ledger: Path) -> None:
    text = (ledger / INFO).read_text("utf-8").replace(f'"{CURRENT[FileKind.LEDGER]}"', '"9.0"')
    (ledger / INFO).write_text(text, "utf-8")
    assert "use a newer assay" in refused(ledger)


@pytest.mark.parametrize("name", ["outcome", "topic"])
def test_a_missing_table_is_named(ledger: Path, name: str) -> None:
    path = ledger / name
    path.rmdir() if path.exists() else (ledger / f"{name}.parquet").unlink()
    assert f"the table {name} is missing" in refused(ledger)


def foreign(ledger: Path, table: Table, described: pa.Schema) -> str:
    """What is said of a part with this schema."""
    path = ledger / table.name / "w9-000000.parquet"
    pq.write_table(described.empty_table(), path)
    sentence = refused(ledger)
    assert path.name in sentence
    return sentence


def test_a_missing_column_is_named(ledger: Path) -> None:
    described = schema(OUTCOME)
    assert "no column code" in foreign(ledger, OUTCOME, described.remove(described.get_field_index("code")))


def test_an_unknown_column_is_named(ledger: Path) -> None:
    assert "unknown column moon" in foreign(ledger, OUTCOME, schema(OUTCOME).append(pa.field("moon", pa.int8())))


def test_a_column_of_another_type_is_named(ledger: Path) -> None:
    described = schema(OUTCOME)
    at = described.get_field_index("t")
    assert "t is timestamp" in foreign(ledger, OUTCOME, described.set(at, pa.field("t", pa.timestamp("us"))))


def test_versions_are_not_mixed(ledger: Path) -> None:
    assert "schema 0.9" in foreign(ledger, OUTCOME, schema(OUTCOME).with_metadata({b"assay.schema": b"0.9"}))


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_every_column_has_a_type_of_arrow(table: Table) -> None:
    assert schema(table).names == [column.name for column in table.columns]


# --- what is in the way of the writing --------------------------------------------------------------------------------


def test_a_folder_in_the_place_of_a_file_is_named(ledger: Path) -> None:
    (ledger / INFO).unlink()
    (ledger / INFO).mkdir()
    with pytest.raises(UsageError, match=r"ledger\.json: cannot be written: Is a directory"):
        create(ledger, INFO_OF_A_RUN, resume=True)


def test_a_fifo_in_the_place_of_a_part_keeps_nothing_waiting(ledger: Path) -> None:
    os.mkfifo(ledger / "stored" / ".w0-000000.parquet")
    with pytest.raises(UsageError, match=r"\.w0-000000\.parquet: is a link, or no file"):
        write(ledger, STORED, stored(3))


def test_no_row_is_written_through_a_link(ledger: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (ledger / "stored").rmdir()
    (ledger / "stored").symlink_to(tmp_path / "other")
    with pytest.raises(UsageError, match="stored: is a link"):
        write(ledger, STORED, stored(3))
    assert list((tmp_path / "other").iterdir()) == []
