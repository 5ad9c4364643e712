"""Sizes that a Parquet file declares are compared with each other before anything is allocated by them."""

from __future__ import annotations

import io
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.histories import info, pack
from tests.spark.ledgers import write

from assay_conformance.ledger.tables import PARTS
from assay_conformance.model.errors import UsageError
from assay_reports.ledgers import parquet
from assay_reports.ledgers.opening import open_ledger
from assay_reports.ledgers.pages import extent, misfit, parse, wrong_pages
from assay_reports.ledgers.parquet import UNREADABLE, damage

ROWS = 50_000
TABLE = pa.table({"seq": pa.array(range(ROWS), pa.int64()), "name": pa.array([f"n{one % 9}" for one in range(ROWS)])})


@pytest.fixture(scope="module", params=["zstd", "none"])
def content(request: pytest.FixtureRequest) -> bytes:
    file = io.BytesIO()
    pq.write_table(TABLE, file, compression=request.param, row_group_size=ROWS // 2, write_page_checksum=True)
    return file.getvalue()


def chunks(content: bytes) -> list[Any]:
    metadata = pq.read_metadata(io.BytesIO(content))
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return [group.column(place) for group in groups for place in range(group.num_columns)]


def told(content: bytes, chunk: Any) -> str:
    return wrong_pages(chunk, lambda at, length: content[at : at + length])


def test_what_was_written_agrees(content: bytes) -> None:
    assert misfit(pq.read_metadata(io.BytesIO(content)), len(content)) == ""
    assert [told(content, chunk) for chunk in chunks(content)] == [""] * 4


NUMBERS = {"kind": 1, "uncompressed": 2, "compressed": 3}
"""The first numbers of a page header, each behind a byte that says so."""


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("place", range(4))
def test_a_page_that_declares_more_than_it_has_is_seen_before_it_is_read(
    content: bytes, place: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunk = chunks(content)[place]
    at, _ = extent(chunk)
    for _ in range(number - 1):
        at = behind(content, at + 1)
    lying = bytearray(content)
    lying[behind(content, at + 1) - 1] ^= 0x7E
    monkeypatch.setattr(parquet, "open_parquet", lambda *_: pytest.fail("expected nothing to be read"))
    assert chunk.path_in_schema in damage(io.BytesIO(bytes(lying)))


def behind(content: bytes, at: int) -> int:
    """Where the number that begins there ends."""
    while content[at] & 0x80:
        at += 1
    return at + 1


def lying(**said: object) -> Any:
    """A footer with one chunk of 10 numbers in a file of 1000 bytes, true but for what is given."""
    chunk: dict[str, object] = {
        "path_in_schema": "seq",
        "physical_type": "INT64",
        "num_values": 10,
        "has_dictionary_page": False,
        "data_page_offset": 4,
        "total_compressed_size": 100,
        "total_uncompressed_size": 120,
    }
    group: dict[str, object] = {"num_rows": 10, "num_columns": 1}
    whole: dict[str, object] = {"num_rows": 10, "num_row_groups": 1, "serialized_size": 300}
    for part in (chunk, group, whole):
        part.update((name, said[name]) for name in part.keys() & said.keys())
    column = SimpleNamespace(**chunk)
    return SimpleNamespace(
        **{"row_group": lambda _number: SimpleNamespace(**group, column=lambda _place: column), **whole}
    )


LIES = {
    "a chunk that begins in front of the file's content": {"data_page_offset": 3},
    "a chunk that ends behind it": {"total_compressed_size": 800},
    "a chunk of fewer bytes than none": {"total_compressed_size": -1},
    "more values than rows": {"num_values": 1 << 40},
    "more bytes than ten numbers can take": {"total_uncompressed_size": 1 << 31},
    "fewer bytes than none": {"total_uncompressed_size": -1},
}


def test_a_footer_that_may_be_true_is_believed() -> None:
    assert misfit(lying(), 1_000) == ""


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_footer_that_cannot_be_true_is_not_believed(lie: dict[str, object]) -> None:
    assert "seq" in misfit(lying(**lie), 1_000)


def test_rows_that_no_row_group_has_are_not_believed() -> None:
    footer = lying()
    footer.num_rows = 11
    assert misfit(footer, 1_000) == "the footer has 11 rows, and 10 in its row groups"


@pytest.mark.parametrize("header", [b"", b"\x15", b"\x15\xff" * 40, b"\x1c" * 40, b"\x18\x7f", b"\x19\x00\x00"])
def test_bytes_that_are_no_header_are_named(header: bytes) -> None:
    with pytest.raises((IndexError, ValueError)):
        parse(header)


@pytest.mark.parametrize("seed", range(40))
def test_a_footer_that_changed_is_found_or_changes_no_row(seed: int, tmp_path: Path) -> None:
    where = write(tmp_path / "ledger", pack(1, 6), info())
    table = PARTS[seed % len(PARTS)]
    (part,) = (where / table.name).glob("*.parquet")
    sound = pq.read_table(part)
    data, footer = bytearray(part.read_bytes()), pq.read_metadata(part).serialized_size
    at = len(data) - 8 - footer + random.Random(seed).randrange(footer - 4)
    data[at : at + 4] = bytes(byte ^ 0xA5 for byte in data[at : at + 4])
    part.write_bytes(data)
    try:
        ledger = open_ledger(str(where))
        named = [*ledger.bad, *ledger.damaged(ledger.parts[table.name])]
        rows = None if named else pa.concat_tables(ledger.contents(table))
    except (UsageError, *UNREADABLE):
        return
    assert rows is None or rows.to_pydict() == sound.to_pydict()
