"""Somebody's logs as a ledger: what they say stands in the tables, bad rows are named, a bad map is one sentence."""

from __future__ import annotations

import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.damaging import flip

from assay_conformance.catalogue import load
from assay_conformance.ledger import clauses
from assay_conformance.ledger.collection import Rows, sums
from assay_conformance.ledger.info import Acking, Acks, Order
from assay_conformance.ledger.judge import judge_rows
from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, NONE, OUTCOME, PARTS, AckKind, Again, Result
from assay_conformance.model.errors import UsageError
from assay_conformance.model.verdict import Verdict
from assay_reports.ledgers.audit import audit
from assay_reports.ledgers.mapping import parquet_log
from assay_reports.ledgers.mapping.map_file import read_map
from assay_reports.ledgers.mapping.mapping import Mapped, map_logs
from assay_reports.ledgers.opening import Ledger, open_ledger, smalls

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


@pytest.mark.parametrize(
    ("change", "mode"),
    [
        (("", ""), "individual"),
        (('acked_at = "acked"', ""), "none"),
        (('name = "r"', 'name = "r"\nacks = "cumulative"'), "cumulative"),
    ],
)
def test_what_an_acknowledgment_is_of_stands_in_the_map(tmp_path: Path, change: tuple[str, str], mode: str) -> None:
    ledger, _ = mapped(tmp_path, [sent()], [got(acked=3)], MAP.replace(*change, 1))
    assert ledger.info.acking == Acking(Acks(mode))


def test_what_had_a_part_in_the_run_stands_in_the_map(tmp_path: Path) -> None:
    told = 'name = "r"\nbroker_version = "4.0.8"\nversions = { orders = "7.3.1" }'
    ledger, _ = mapped(tmp_path, [sent()], [got()], MAP.replace('name = "r"', told, 1))
    assert (ledger.info.broker.version, ledger.info.versions) == ("4.0.8", {"orders": "7.3.1"})


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [("none", "run.acks is none, and received.acked_at names a column"), ("banana", "Invalid enum value 'banana'")],
)
def test_a_map_that_contradicts_itself_about_acknowledgments_is_refused(
    tmp_path: Path, mode: str, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        mapped(tmp_path, [sent()], [got()], MAP.replace('name = "r"', f'name = "r"\nacks = "{mode}"'))


def test_a_file_of_noise_is_not_told_at_length(tmp_path: Path) -> None:
    (tmp_path / "sent.csv").write_text(",".join("x" * 1000 for _ in range(1000)))
    with pytest.raises(UsageError, match=r"no column 'who', which sent\.producer names; it has") as refused:
        mapped(tmp_path, [], [got()])
    assert len(str(refused.value)) < 4000


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
        (sent(3.5), "n is '3.5', expected a whole number"),
        (sent(1 << 40), "n is 1099511627776, expected less than 1099511627776"),
        (sent("9" * 9_000), f"n is '{'9' * 59}..., expected a whole number"),
        (sent(0, "inf"), "t is 'inf', expected a time in ms"),
        (sent(0, 1_780_300_800_000_000), "t is 1780300800000000, 56453 years from run.started if its unit is ms"),
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
        else ["1 rows have no crc: whether payloads changed is judged only if all rows of both logs have one"]
    )


def test_an_acknowledgment_after_the_second_delivery_was_none_before_it(tmp_path: Path) -> None:
    ledger, _ = mapped(tmp_path, [sent()], [got(0, 2, acked=50), got(0, 10)])
    assert [row.again for row in ledger.read(DELIVERY)] == [Again.FIRST, Again.GOT]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('producer = "who"\n', "", r"missing required field `producer` - at `\$.sent`"),
        ('key = "key"', 'colour = "key"', "unknown key 'colour'"),
        ('sent_at = "t"', 'sent_at = "t"\nunit = "days"', r"Invalid enum value 'days' - at `\$.sent.unit`"),
        ("[run]", "[run", "is not TOML"),
        ('sent_at = "t"', 'sent_at = "when"', "no column 'when', which sent.sent_at names; it has"),
        ('files = "sent.*"', 'files = "missing.*"', "no file matches 'missing.*'"),
        ('files = "sent.*"', 'files = "/logs/*"', "expected a pattern of names, relative to the map"),
        ('failed = ["NO"]', 'failed = ["OK"]', "sent.codes: 'OK' stands there twice"),
        ("[received]", '[[subscription]]\nname = "s"\ntype = "shared"\n[received]', "Invalid enum value 'shared'"),
        ("[received]", '[[topic]]\nname = "t"\n[[topic]]\nname = "t"\n[received]', "topic: 't' stands there twice"),
    ],
)
def test_a_bad_map_is_one_sentence(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        mapped(tmp_path, [sent()], [got()], MAP.replace(old, new, 1))


def test_logs_of_which_nothing_can_be_used_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none of the rows that it names can be used; the first one: "):
        mapped(tmp_path, [sent(-1)], [got(-1)])


@pytest.mark.parametrize(
    ("name", "torn", "sentence"),
    [
        ("sent.csv", b"p,t,1,k", "has 4 values, expected 6"),
        ("sent.csv", b"p,t,1,k\xe4,1,OK,?", "has 7 values, expected 6"),
        ("sent.jsonl", b'{"who": "p", "top', "is no JSON: JSON is malformed: invalid character (byte 17)"),
        ("sent.jsonl", b'["p"]', "is ['p'], expected an object"),
    ],
)
def test_a_line_that_is_no_row_is_named_and_the_others_are_read(
    tmp_path: Path, name: str, torn: bytes, sentence: str
) -> None:
    lines = {"sent.csv": b"who,topic,n,key,t,result\np,t,0,k,1,OK\n", "sent.jsonl": json.dumps(sent()).encode() + b"\n"}
    text = MAP.replace('"sent.*"', f'"{name}"')
    (tmp_path / "map.toml").write_text(text, "utf-8")
    (tmp_path / name).write_bytes(lines[name] + torn + lines[name].splitlines()[-1].join((b"\n", b"\n")))
    (tmp_path / "got.jsonl").write_text(json.dumps(got()) + "\n", "utf-8")
    told = map_logs(read_map(tmp_path / "map.toml"), tmp_path / "map.toml", tmp_path / "ledger", "0")
    assert (told.rows["attempt"], told.named) == (2, [f"{tmp_path / name}: row 2: {sentence}"])


def test_a_key_that_a_line_lacks_is_empty_and_one_that_all_lack_is_refused(tmp_path: Path) -> None:
    first, second = got(0, 2, nacked=3), got(1, 4)
    del second["nacked"]
    ledger, _ = mapped(tmp_path, [sent(0, 1), sent(1, 2)], [first, second])
    assert [(row.seq, row.kind) for row in ledger.read(ACK)] == [(0, AckKind.NACK)]
    (tmp_path / "other").mkdir()
    with pytest.raises(UsageError, match=r"no column 'nacked', which received\.nacked_at names"):
        mapped(tmp_path / "other", [sent()], [second])


def test_what_could_not_be_mapped_is_not_in_the_way_of_the_next_try(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        mapped(tmp_path, [sent()], [got()], MAP.replace('sent_at = "t"', 'sent_at = "when"'))
    assert mapped(tmp_path, [sent()], [got()])[1].bad == 0


def test_clocks_that_differ_by_more_than_the_map_says_are_not_believed(tmp_path: Path) -> None:
    text = MAP.replace('name = "r"', 'name = "r"\nclock_error_ms = 5')
    ledger, told = mapped(tmp_path, [sent(0, 5_000)], [got(0, 2_000)], text)
    assert [row.clock_error for row in ledger.small["writer"]] == [NONE, NONE]
    assert "a message was delivered 3.000 s before it was sent" in told.notes[0]


def test_a_time_of_delivery_behind_the_end_of_the_logs_is_not_their_end(tmp_path: Path) -> None:
    text = MAP.replace('outcome = "result"', 'outcome = "result"\ndeliver_at = "due"')
    ledger, _ = mapped(tmp_path, [sent(0, 1, due=9_000_000), sent(1, 2, due=None)], [got(1, 3)], text)
    assert ledger.info.ended_unix_ms == 3 + ledger.info.grace_us // 1000


def test_a_beginning_without_a_zone_is_that_of_utc(tmp_path: Path) -> None:
    ledger, _ = mapped(tmp_path, [sent()], [got()], MAP.replace("00:00:00Z", "00:00:00"))
    assert ledger.info.started_unix_ms == 0


def test_what_may_stand_in_a_row_that_cannot_be_used_is_neither_lost_nor_invented(tmp_path: Path) -> None:
    producers = [sent(0, 1), sent(1, 2, result="MAYBE"), sent(2, 3), sent(3, 4)]
    consumers = [got(0, 5), got(1, 6), got(2, 7, who=""), got(3, 8)]
    ledger, told = mapped(tmp_path, producers, consumers, MAP.replace('name = "r"', 'name = "r"\ngrace_ms = 0'))
    rows, small = Rows(*(tuple(ledger.read(table)) for table in PARTS)), smalls(ledger)
    found = judge_rows(rows, small, ledger.info, sums(rows, small, ledger.info), load())
    verdicts = {str(row.requirement): row.verdict for row in found}
    assert told.bad == 2
    assert (verdicts[clauses.LOST], verdicts[clauses.INVENTED]) == (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE)


# --- Parquet that others wrote ----------------------------------------------------------------------------------------

_NS = 1_700_000_000_123_456_789
_ZERO = "started = 2023-11-14T22:13:20Z"


def mapped_parquet(folder: Path, columns: dict[str, Any], text: str = MAP) -> tuple[Ledger, Mapped]:
    """Producers' logs with these columns in place of those that `sent` has."""
    rows = next(len(column) for column in columns.values())
    usual = {name: pa.array([value] * rows) for name, value in sent().items()}
    usual["n"] = pa.array(list(range(rows)))
    pq.write_table(pa.table({**usual, **columns}), folder / "sent.parquet")
    (folder / "map.toml").write_text(text.replace("started = 1970-01-01T00:00:00Z", _ZERO), "utf-8")
    (folder / "got.jsonl").write_text(json.dumps(got(t=1_700_000_001_000)) + "\n", "utf-8")
    told = map_logs(read_map(folder / "map.toml"), folder / "map.toml", folder / "ledger", "0")
    return open_ledger(str(folder / "ledger")), told


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_timestamps_of_every_resolution_are_moments(tmp_path: Path, unit: str, zone: str | None) -> None:
    a_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    value = _NS * a_second // 10**9
    times = pa.array([value], pa.int64()).cast(pa.timestamp(unit, zone))
    ledger, told = mapped_parquet(tmp_path, {"t": times})
    (attempt,) = ledger.read(ATTEMPT)
    assert told.bad == 0
    assert attempt.t == value * 10**6 // a_second - 1_700_000_000 * 10**6


DAY_NS = 86_400 * 10**9


@pytest.mark.parametrize(
    ("column", "values", "sentence"),
    [
        ("t", pa.array([_NS % DAY_NS], pa.time64("ns")), r"t holds time64\[ns\] that cannot be read"),
        ("t", pa.array([5], pa.time64("us")), "t is datetime.time"),
        ("t", pa.array([_NS], pa.duration("ns")), "expected a time in ms|t holds duration"),
        ("t", pa.array([1 << 60], pa.timestamp("ms")), "years from run.started"),
        ("t", pa.array([-(1 << 60)], pa.timestamp("us")), "years from run.started"),
        ("t", pa.array([2_000_000_000], pa.date32()), r"t holds date32\[day\] that cannot be read"),
        ("t", pa.array([float("inf")]), "t is inf, expected a time in ms"),
        ("t", pa.array([float("nan")]), "t is nan, expected a time in ms"),
        ("t", pa.array(["9" * 400]), "millions of years from run.started"),
        ("n", pa.array([float("inf")]), "n is inf, expected a whole number"),
        ("n", pa.array([[1]]), r"n is \[1\], expected a whole number"),
        ("n", pa.array([b"x"]), "n is b'x', expected a whole number"),
        ("result", pa.array(["OK\n" * 100]), "which sent.codes does not name"),
        ("who", pa.array([None], pa.null()), "who is empty"),
    ],
)
def test_a_value_without_meaning_costs_its_row_and_no_other(
    tmp_path: Path, column: str, values: Any, sentence: str
) -> None:
    good = {name: pa.array([value]) for name, value in sent(n=7, t=1_700_000_000_000).items()}
    pq.write_table(pa.table(good), tmp_path / "sent.1.parquet")
    text = MAP.replace('"sent.*"', '"sent*.parquet"')
    ledger, told = mapped_parquet(tmp_path, {"t": pa.array([1_700_000_000_000]), column: values}, text)
    assert [attempt.seq for attempt in ledger.read(ATTEMPT)] == [7]
    (named,) = told.named
    assert "sent.parquet: row 1: " in named
    assert re.search(sentence, named)
    assert len(named) < 1000


def test_text_that_is_no_utf_8_stays_apart_as_in_a_csv(tmp_path: Path) -> None:
    raw = pa.array([b"\xff\xfe", b"\xff\xfd"], pa.binary())
    who = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    ledger, told = mapped_parquet(tmp_path, {"who": who, "t": pa.array([1_700_000_000_000] * 2)})
    assert told.bad == 0
    assert {stream.producer for stream in ledger.small["stream"]} == {"\\xff\\xfe", "\\xff\\xfd", "p"}


def test_a_value_that_many_rows_name_is_held_once(tmp_path: Path) -> None:
    rows, name = 20_000, "p" * 100_000
    who = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([name]))
    tracemalloc.start()
    mapped_parquet(tmp_path, {"who": who, "t": pa.array([1_700_000_000_000] * rows)})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 200 << 20  # held for each row it would be 2 GB


def test_a_row_group_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_log, "MOST_COLUMN_BYTES", 1000)
    keys = pa.array(["k" * 10_000])
    with pytest.raises(UsageError, match=r"sent\.parquet: column 'key' unpacks to 0 MiB in row group 0; expected"):
        mapped_parquet(tmp_path, {"key": keys, "t": pa.array([1_700_000_000_000])})


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.table([pa.array([1]), pa.array([2])], names=["who", "who"])
    with pytest.raises(UsageError, match="several columns are named 'who'; expected one"):
        list(parquet_log.parquet_rows(_written(tmp_path, table), ["who"], 10, lambda _: None))


def test_a_log_that_changed_after_it_was_written_is_refused(tmp_path: Path) -> None:
    path = _written(tmp_path, pa.table({"who": pa.array(range(1000))}))
    flip(path, "who")
    with pytest.raises(OSError, match="CRC checksum verification failed"):
        list(parquet_log.parquet_rows(path, ["who"], 10, lambda _: None))


def _written(folder: Path, table: Any) -> Path:
    path = folder / "x.parquet"
    pq.write_table(table, path, compression="none", use_dictionary=False, write_page_checksum=True)
    return path


@pytest.mark.parametrize(
    "line", [b'{"who": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", b'{"n": "' + b"1" * 2_000_000 + b'"}']
)
def test_a_line_that_nests_deep_or_has_no_end_is_a_bad_row(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "map.toml").write_text(MAP, "utf-8")
    (tmp_path / "sent.jsonl").write_bytes(line + b"\n" + json.dumps(sent()).encode() + b"\n")
    (tmp_path / "got.jsonl").write_text(json.dumps(got()) + "\n", "utf-8")
    told = map_logs(read_map(tmp_path / "map.toml"), tmp_path / "map.toml", tmp_path / "ledger", "0")
    assert (told.bad, told.rows["attempt"]) == (1, 1)
    assert "sent.jsonl: row 1: is " in told.named[0]


@pytest.mark.parametrize(
    "setting",
    ["clock_error_ms = inf", "clock_error_ms = nan", "clock_error_ms = 1e300", f"grace_ms = {10**15}", "grace_ms = -1"],
)
def test_a_map_with_a_time_beyond_all_runs_is_refused(tmp_path: Path, setting: str) -> None:
    with pytest.raises(UsageError, match=rf"map\.toml: .*{setting.split()[0]}"):
        mapped(tmp_path, [sent()], [got()], MAP.replace('name = "r"', f'name = "r"\n{setting}'))


@pytest.mark.parametrize(("key", "why"), [("producer", "no column"), ("files", "no file matches|cannot be read|files")])
def test_a_name_of_any_length_is_not_told_at_length(tmp_path: Path, key: str, why: str) -> None:
    usual = {"producer": 'producer = "who"', "files": 'files = "sent.*"'}[key]
    with pytest.raises(UsageError, match=why) as refused:
        mapped(tmp_path, [sent()], [got()], MAP.replace(usual, f'{key} = "{"x" * 5_000}"', 1))
    assert len(str(refused.value)) < 1000
