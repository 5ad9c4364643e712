"""Rows of flagged buckets: whole, with a message on either side, and from the row groups that can hold them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark import ledgers
from tests.spark.histories import Packed, info

from assay_conformance.ledger.rows import Attempt
from assay_conformance.ledger.tables import ATTEMPT, NONE
from assay_reports.ledgers.layout import GROUP_ROWS
from assay_reports.ledgers.opening import open_ledger
from assay_reports.spark.picking import pick, ranges, shares


def sent(stream: int, seqs: range) -> list[Attempt]:
    return [Attempt(stream, seq, NONE, seq, 1, 1) for seq in seqs]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    where = ledgers.write(tmp_path / "ledger", Packed(), info())
    ledgers.add(where, ATTEMPT, 1, [*sent(1, range(300)), *sent(2, range(300))])
    return where


def picked(where: Path, *buckets: tuple[int, int]) -> list[tuple[int, int]]:
    found = pick(open_ledger(str(where)), ranges(buckets), 1_000_000)
    return [(row.stream, row.seq) for row in found.rows.attempts]


def test_a_bucket_comes_whole_with_one_message_on_either_side(ledger: Path) -> None:
    assert picked(ledger, (1, 2)) == [(1, seq) for seq in range(127, 193)]


def test_the_first_bucket_has_nothing_before_it(ledger: Path) -> None:
    assert picked(ledger, (2, 0)) == [(2, seq) for seq in range(65)]


def test_buckets_that_touch_are_read_once(ledger: Path) -> None:
    assert picked(ledger, (1, 1), (1, 2)) == [(1, seq) for seq in range(63, 193)]


def test_nothing_flagged_is_nothing_read(ledger: Path) -> None:
    assert pick(open_ledger(str(ledger)), ranges(()), 1_000_000).read == 0


def test_only_row_groups_that_can_hold_a_bucket_are_read(tmp_path: Path) -> None:
    where = ledgers.write(tmp_path / "large", Packed(), info())
    ledgers.add(where, ATTEMPT, 1, sent(1, range(3 * GROUP_ROWS)))
    found = pick(open_ledger(str(where)), ranges([(1, 2 * GROUP_ROWS // 64 + 5)]), 1_000_000)
    assert (found.read, found.groups) == (1, 3)
    assert len(found.rows.attempts) == 66


def test_numbers_beyond_40_bits_are_found(tmp_path: Path) -> None:
    where = ledgers.write(tmp_path / "late", Packed(), info())
    ledgers.add(where, ATTEMPT, 1, sent(1, range(1 << 39, (1 << 39) + 200)))
    assert picked(where, (1, (1 << 39) // 64 + 1)) == [(1, (1 << 39) + seq) for seq in range(63, 129)]


def test_of_more_rows_than_are_allowed_none_are_told(ledger: Path) -> None:
    """Some of them would say that what the others hold is missing."""
    found = pick(open_ledger(str(ledger)), ranges([(1, 2), (2, 3)]), 100)
    assert (found.whole, list(found.rows.attempts)) == (False, [])


def test_a_damaged_part_is_named_and_the_others_are_read(ledger: Path) -> None:
    ledgers.add(ledger, ATTEMPT, 2, sent(1, range(300, 400)))
    part = next((ledger / "attempt").glob("w1-*.parquet"))
    content = bytearray(part.read_bytes())
    content[4:400] = bytes(396)
    part.write_bytes(content)
    found = pick(open_ledger(str(ledger)), ranges([(1, 4)]), 1_000_000)
    assert [bad.file for bad in found.bad] == [f"attempt/{part.name}"]
    assert [row.seq for row in found.rows.attempts] == list(range(300, 321))


# --- who gets how much of the room ------------------------------------------------------------------------------------


def test_where_there_is_room_for_all_each_gets_what_it_needs() -> None:
    assert shares({"lost": 900, "twice": 70, "late": 30}, 1_000) == {"lost": 900, "twice": 70, "late": 30}


def test_what_one_does_not_need_goes_to_those_that_need_more() -> None:
    assert shares({"lost": 900, "twice": 10, "late": 500}, 600) == {"twice": 10, "late": 295, "lost": 295}


def test_no_room_is_left_while_anybody_needs_it() -> None:
    assert sum(shares({"lost": 900, "twice": 901, "late": 902}, 1_000).values()) == 1_000


def test_equal_needs_share_the_same_whatever_order_they_are_told_in() -> None:
    needs = {"lost": 9, "twice": 9, "late": 9}
    assert shares(needs, 10) == shares(dict(reversed(needs.items())), 10)


def test_each_that_needs_any_gets_one_even_without_room() -> None:
    assert shares({"lost": 900, "twice": 1, "none": 0}, 0) == {"none": 0, "twice": 1, "lost": 1}
