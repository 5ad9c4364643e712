"""Somebody's logs as a ledger: what they say stands in the tables, bad rows are named, a bad map is one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay_conformance.ledger.info import Order
from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, OUTCOME, AckKind, Again, Result
from assay_conformance.model.errors import UsageError
from assay_reports.ledgers.audit import audit
from assay_reports.ledgers.mapping import Mapped, map_logs, read_map
from assay_reports.ledgers.opening import Ledger, open_ledger

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "production-logs" / "orders.toml"

MAP = """
[run]
name = "r"
started = 1970-01-01T00:00:00Z

[sent]
files = "sent.*"
producer = "who"
topic = "topic"
number = "n"
key = "key"
sent_at = "t"
outcome = "result"
codes = { ok = ["OK"], failed = ["NO"], unknown = ["?"] }

[received]
files = "got.jsonl"
subscription = "sub"
consumer = "who"
producer = "from"
topic = "topic"
number = "n"
received_at = "t"
acked_at = "acked"
nacked_at = "nacked"
"""


def sent(n: Any = 0, t: Any = 1, **columns: Any) -> dict[str, Any]:
    return {"who": "p", "topic": "t", "n": n, "key": None, "t": t, "result": "OK", **columns}


def got(n: Any = 0, t: Any = 2, **columns: Any) -> dict[str, Any]:
    return {"sub": "s", "who": "c", "from": "p", "topic": "t", "n": n, "t": t, "acked": None, "nacked": None, **columns}


def mapped(
    folder: Path, producers: list[dict[str, Any]], consumers: list[dict[str, Any]], text: str = MAP
) -> tuple[Ledger, Mapped]:
    (folder / "map.toml").write_text(text, "utf-8")
    for name, rows in (("sent", producers), ("got", consumers)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, "utf-8")
    told = map_logs(read_map(folder / "map.toml"), folder / "map.toml", folder / "ledger", "0")
    return open_ledger(str(folder / "ledger")), told


def test_the_example_holds_what_its_readme_says(tmp_path: Path) -> None:
    told = map_logs(read_map(EXAMPLE), EXAMPLE, tmp_path / "orders", "0")
    ledger = open_ledger(str(tmp_path / "orders"))
    assert (told.bad, told.notes, audit(ledger, full=True).differing) == (0, [], 0)
    ok = {(row.stream, row.seq) for row in ledger.read(OUTCOME) if row.code == Result.OK}
    deliveries = list(ledger.read(DELIVERY))
    sent_as = {(row.stream, row.seq): row.crc for row in ledger.read(ATTEMPT)}
    assert all(sent_as[row.stream, row.seq] == row.crc for row in deliveries)
    assert ok - {(row.stream, row.seq) for row in deliveries} == {(1, 17)}
    assert [(row.seq, row.again, row.wait) for row in deliveries if row.again] == [
        (8, Again.GOT, 6_000_000),
        (30, Again.ACKED, None),
    ]


def test_a_row_of_each_log_becomes_rows(tmp_path: Path) -> None:
    ledger, told = mapped(tmp_path, [sent(3, 1, key="k")], [got(3, 2, acked=4), got(3, 9, nacked=10)])
    assert told.rows == {"attempt": 1, "outcome": 1, "delivery": 2, "ack": 2}
    assert [(row.seq, row.key, row.t) for row in ledger.read(ATTEMPT)] == [(3, 0, 1000)]
    assert [(row.t, row.pos, row.again, row.redeliv) for row in ledger.read(DELIVERY)] == [
        (2000, 0, Again.FIRST, 0),
        (9000, 1, Again.ACKED, 1),
    ]
    assert [(row.kind, row.t, row.t_done) for row in ledger.read(ACK)] == [
        (AckKind.ACK, 4000, 4000),
        (AckKind.NACK, 10_000, None),
    ]


def test_outcomes_are_read_by_the_map(tmp_path: Path) -> None:
    told = [sent(n, n, result=word) for n, word in enumerate(("OK", "NO", "?"))]
    ledger, _ = mapped(tmp_path, told, [got()])
    assert [row.code for row in ledger.read(OUTCOME)] == [Result.OK, Result.FAIL, Result.UNKNOWN]


def test_a_message_that_was_sent_again_is_a_second_attempt(tmp_path: Path) -> None:
    ledger, _ = mapped(tmp_path, [sent(0, 1, result="?"), sent(0, 5)], [got()])
    assert [(row.attempt, row.t) for row in ledger.read(ATTEMPT)] == [(0, 1000), (1, 5000)]


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ("s", 1.5),
        ("ms", 1500),
        ("us", "1500000"),
        ("ns", 1_500_000_000),
        ("iso", "1970-01-01T00:00:01.500"),
        ("iso", "1970-01-01T01:00:01.5+01:00"),
    ],
)
def test_times_are_read_in_their_unit(tmp_path: Path, unit: str, value: Any) -> None:
    text = MAP.replace('outcome = "result"', f'outcome = "result"\nunit = "{unit}"')
    ledger, _ = mapped(tmp_path, [sent(0, value)], [got()], text)
    assert [row.t for row in ledger.read(ATTEMPT)] == [1_500_000]


def test_parquet_is_read_as_the_others(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([sent(0, 1, key="k"), sent(1, 2, key="k")]), tmp_path / "sent.parquet")
    ledger, _ = mapped(tmp_path, [sent(2, 3, key="k")], [got()])
    assert [row.seq for row in ledger.read(ATTEMPT)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (sent("x"), "n is 'x', expected a whole number"),
        (sent(-1), "n is -1, expected no negative number"),
        (sent(0, "yesterday"), "t is 'yesterday', expected a time in ms"),
        (sent(result="MAYBE"), "result is 'MAYBE', which sent.codes does not name"),
        (sent(who=""), "who is empty"),
    ],
)
def test_a_bad_row_is_counted_and_named(tmp_path: Path, row: dict[str, Any], sentence: str) -> None:
    # As text, as a CSV has it: JSON lines of one column have one type.
    rows = [{name: str(value) if value is not None else None for name, value in one.items()} for one in (sent(7), row)]
    ledger, told = mapped(tmp_path, rows, [got()])
    assert (told.bad, told.named) == (1, [f"{tmp_path / 'sent.jsonl'}: row 2: {sentence}"])
    assert ledger.rows("attempt") == 1


def test_logs_out_of_order_are_not_judged_for_order(tmp_path: Path) -> None:
    ledger, told = mapped(tmp_path, [sent()], [got(0, 9), got(1, 2)])
    assert ledger.info.order is Order.NONE
    assert "so order is not judged" in told.notes[0]


@pytest.mark.parametrize(
    ("ours", "theirs", "compared"), [([1, 2], [1, 2], True), ([1, 2], [1, None], False), ([1, None], [1, 2], False)]
)
def test_payloads_are_compared_where_every_row_has_a_crc(
    tmp_path: Path, ours: list[Any], theirs: list[Any], compared: bool
) -> None:
    text = MAP.replace('outcome = "result"', 'outcome = "result"\ncrc = "crc"').replace(
        'received_at = "t"', 'received_at = "t"\ncrc = "crc"'
    )
    producers = [sent(n, n, crc=one) for n, one in enumerate(ours)]
    ledger, told = mapped(tmp_path, producers, [got(n, 5 + n, crc=one) for n, one in enumerate(theirs)], text)
    assert ledger.info.checksums is compared
    assert [note for note in told.notes if "crc" in note] == (
        []
        if compared
        else ["1 rows have no crc: whether payloads changed is told only where all rows of both logs have one"]
    )


def test_an_acknowledgment_after_the_second_delivery_was_none_before_it(tmp_path: Path) -> None:
    ledger, _ = mapped(tmp_path, [sent()], [got(0, 2, acked=50), got(0, 10)])
    assert [row.again for row in ledger.read(DELIVERY)] == [Again.FIRST, Again.GOT]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('producer = "who"\n', "", r"missing required field `producer` - at `\$.sent`"),
        ('key = "key"', 'colour = "key"', "unknown field `colour`"),
        ('sent_at = "t"', 'sent_at = "t"\nunit = "days"', r"Invalid enum value 'days' - at `\$.sent.unit`"),
        ("[run]", "[run", "expected TOML"),
        ('sent_at = "t"', 'sent_at = "when"', "no column 'when', which sent.sent_at names; it has"),
        ('files = "sent.*"', 'files = "missing.*"', "no file matches 'missing.*'"),
    ],
)
def test_a_bad_map_is_one_sentence(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        mapped(tmp_path, [sent()], [got()], MAP.replace(old, new, 1))


def test_logs_of_which_nothing_can_be_used_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none of the rows that it names can be used; the first one: "):
        mapped(tmp_path, [sent(-1)], [got(-1)])
