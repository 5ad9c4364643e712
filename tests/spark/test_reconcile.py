"""Spark says of a ledger what the rules say of all its rows in memory: the same findings, and the same witnesses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.spark import duck, ledgers
from tests.spark.histories import DEFECTS, Packed, info, pack

from assay_conformance.catalogue import load
from assay_conformance.ledger import clauses
from assay_conformance.ledger.clauses import CLAUSES
from assay_conformance.ledger.collection import flagged, sums
from assay_conformance.ledger.info import LedgerInfo, Order
from assay_conformance.ledger.judge import all_rules, judge_rows
from assay_conformance.ledger.lives import Evidence
from assay_conformance.ledger.rows import Ack
from assay_conformance.ledger.rules import RULES
from assay_conformance.ledger.spans import spans
from assay_conformance.ledger.tables import ACK, DELIVERY, PARTS
from assay_conformance.ledger.words import WORDS, Bucket, Words, fold
from assay_conformance.model.errors import HarnessError
from assay_conformance.model.verdict import RequirementVerdict, Verdict
from assay_reports.ledgers.opening import open_ledger, smalls
from assay_reports.spark import folds, screen
from assay_reports.spark.reconcile import MOST_ROWS, Reconciled, reconcile

HISTORIES = 40
ENOUGH_HISTORIES = 120
"""For every defect to be in some of them."""
OF_FLOWS = {clauses.FLOWS, clauses.DISPATCH, clauses.PUBLISH}
"""Broken by no message, but by thousands; made-up ledgers have them."""
NOT_ALWAYS = {"outlived", "twice"}
"""Clauses that hold where nothing is wrong: of messages on both sides of a restart, and when a consumer left."""


def judged(spark: Any, where: Path, **options: Any) -> Reconciled:
    return reconcile(spark, open_ledger(str(where)), load(), **options)


def in_memory(packed: Packed, of: LedgerInfo) -> tuple[RequirementVerdict, ...]:
    rows, small = packed.rows(), packed.smalls()
    return judge_rows(rows, small, of, sums(rows, small, of), load())


@pytest.mark.parametrize(
    ("seed", "of"),
    [
        pytest.param(19, info(), id="order of partitions"),
        pytest.param(20, info(Order.KEY), id="order of keys", marks=pytest.mark.long),
        pytest.param(3, info(self_checking=False), id="payloads that say nothing", marks=pytest.mark.long),
    ],
)
def test_spark_finds_what_the_rules_find_in_memory(spark: Any, tmp_path: Path, seed: int, of: LedgerInfo) -> None:
    packed = pack(seed, ENOUGH_HISTORIES, DEFECTS)
    found = judged(spark, ledgers.write(tmp_path / "ledger", packed, of, seed), most_rows=2 * MOST_ROWS)
    rows, small = packed.rows(), packed.smalls()
    known = sums(rows, small, of)
    assert found.sums == known._replace(exercised={name: count for name, count in known.exercised.items() if count})
    assert found.verdicts == judge_rows(rows, small, of, known, load())
    if of == info():
        broken = {row.requirement for row in found.verdicts if row.findings}
        assert broken == {rule.requirement for rule in RULES} - OF_FLOWS


@pytest.mark.long
def test_of_many_messages_spark_takes_those_that_memory_takes(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = pack(21, HISTORIES)
    rows = packed.rows()
    everything = spans(rows)
    monkeypatch.setattr("assay_conformance.ledger.spans.MOST_MESSAGES", len(rows.attempts) // 3)
    found = judged(spark, ledgers.write(tmp_path / "ledger", packed, info(), seed=21)).sums.spans
    assert found == spans(rows)
    assert 0 < sum(span.latencies for span in found.spans) < sum(span.latencies for span in everything.spans)


@pytest.mark.one_in(2)
def test_healthy_histories_have_no_findings(spark: Any, tmp_path: Path) -> None:
    packed = pack(4, HISTORIES)
    where = ledgers.write(tmp_path / "ledger", packed, info(), seed=4)
    found = judged(spark, where)
    assert not [finding.sentence for verdict in found.verdicts for finding in verdict.findings]
    flagged_for = {name for name, _, _ in duck.flags(where, info())}
    assert flagged_for <= NOT_ALWAYS


def test_words_are_those_of_python_and_of_another_engine(spark: Any, tmp_path: Path) -> None:
    packed = pack(5, HISTORIES, DEFECTS)
    ledger = open_ledger(str(ledgers.write(tmp_path / "ledger", packed, info(self_checking=False), seed=5)))
    query = screen.merged(screen.stacked(folds.recount(spark, ledger)))
    content = spark.sql(query).toArrow()
    columns = (column.to_pylist() for column in content.columns)
    ours = {Bucket(*row[:3]): Words(*row[3:]) for row in zip(*columns, strict=True)}
    assert ours == fold(row for table in packed.rows() for row in table)
    for bucket, words in duck.folds(tmp_path / "ledger").items():
        ours_of = ours[Bucket(*bucket)]._asdict()
        assert {name: ours_of[name] for name in words} == words


def test_the_last_bucket_of_the_last_stream_of_the_last_subscription_is_itself(spark: Any, tmp_path: Path) -> None:
    last = Ack(2046, 0, (1 << 18) - 1, (1 << 40) - 1, 0, 0, 0, 0, 0, 0)
    rows = [last, last._replace(sub=0), last._replace(stream=0), last._replace(seq=0)]
    where = ledgers.write(tmp_path / "ledger", Packed(), info())
    ledgers.add(where, ACK, 0, rows)
    found = spark.sql(screen.merged(_stack(spark, where))).select("sub", "stream", "b").collect()
    assert {tuple(row) for row in found} == {(row.sub, row.stream, row.seq >> 6) for row in rows}


@pytest.mark.long
def test_a_bucket_is_flagged_by_spark_when_python_flags_it(spark: Any, tmp_path: Path) -> None:
    packed = pack(6, HISTORIES, DEFECTS)
    ledger = open_ledger(str(ledgers.write(tmp_path / "ledger", packed, info(), seed=6)))
    rows, small = packed.rows(), packed.smalls()
    wanted = {(bucket.stream, bucket.b) for bucket in flagged(fold(row for t in rows for row in t), small, info())}
    assert smalls(ledger) == small
    judged(spark, tmp_path / "ledger")
    found = spark.sql(screen.screen(_stack(spark, tmp_path / "ledger"))).where("mask <> 0").select("stream", "b")
    assert {tuple(row) for row in found.collect()} == wanted


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("seed", "of"),
    [
        pytest.param(11, info(), id="order of partitions"),
        pytest.param(12, info(Order.KEY), id="order of keys", marks=pytest.mark.long),
        pytest.param(13, info(self_checking=False), id="payloads that say nothing", marks=pytest.mark.long),
    ],
)
def test_another_engine_flags_what_spark_flags_for_the_same_reasons(
    spark: Any, tmp_path: Path, seed: int, of: LedgerInfo
) -> None:
    where = ledgers.write(tmp_path / "ledger", pack(seed, HISTORIES, DEFECTS), of, seed)
    judged(spark, where)
    rows = spark.sql(screen.screen(_stack(spark, where))).where("mask <> 0").select("stream", "b", "mask").collect()
    found = {
        (name, row.stream, row.b) for row in rows for place, name in enumerate(CLAUSES) if row.mask >> place & 1
    } | {("torn", row.stream, row.b) for row in spark.sql(screen.chunked("chunks")).collect()}
    assert found == duck.flags(where, of)


def _stack(spark: Any, where: Path) -> str:
    return screen.stacked(folds.recount(spark, open_ledger(str(where))))


# --- folds that are kept --------------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
def test_only_a_part_that_is_new_is_folded_and_all_rows_agree(spark: Any, tmp_path: Path) -> None:
    packed = pack(7, 12, DEFECTS)
    late = packed.deliveries[-20:]
    early = Packed(**{**vars(packed), "deliveries": packed.deliveries[:-20]})
    where = ledgers.write(tmp_path / "ledger", early, info(), seed=7)
    assert judged(spark, where).folded_now == sum(len(rows) for rows in early.rows())
    ledgers.add(where, DELIVERY, 9, late)
    again = judged(spark, where, recount=True)
    assert again.folded_now == len(late)
    assert again.verdicts == in_memory(packed, info())


@pytest.mark.one_in(2)
def test_folds_that_do_not_agree_with_the_rows_are_our_error(spark: Any, tmp_path: Path) -> None:
    where = ledgers.write(tmp_path / "ledger", pack(8, 3), info())
    judged(spark, where)
    # The fold of outcomes takes the place of that of attempts.
    words = {table.name: next((where / "fold" / table.name).glob("*/words")) for table in PARTS[:2]}
    for file in words["attempt"].iterdir():
        file.unlink()
    spark.read.parquet(str(words["outcome"])).selectExpr("sub", "stream", "b", "rb sb", "0L sx").write.mode(
        "append"
    ).parquet(str(words["attempt"]))
    with pytest.raises(HarnessError, match="folds and rows disagree, first at sub = -1"):
        judged(spark, where, recount=True)


# --- what cannot be read --------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_damaged_part_is_named_and_nothing_is_proven(spark: Any, tmp_path: Path) -> None:
    where = ledgers.write(tmp_path / "ledger", pack(9, 12, DEFECTS), info())
    part = next((where / "delivery").glob("*.parquet"))
    content = bytearray(part.read_bytes())
    content[4:400] = bytes(396)
    part.write_bytes(content)
    found = judged(spark, where)
    assert [bad.file for bad in found.bad] == [f"delivery/{part.name}"]
    assert {verdict.verdict for verdict in found.verdicts} == {Verdict.INCONCLUSIVE}


def test_an_empty_ledger_passes_nothing(spark: Any, tmp_path: Path) -> None:
    found = judged(spark, ledgers.write(tmp_path / "ledger", Packed(), info()))
    assert Verdict.PASS not in {verdict.verdict for verdict in found.verdicts}


@pytest.mark.long
def test_beyond_the_cap_buckets_are_counted_and_each_requirement_is_looked_at(spark: Any, tmp_path: Path) -> None:
    packed = pack(10, HISTORIES, DEFECTS)
    where = ledgers.write(tmp_path / "ledger", packed, info(), seed=10)
    few = judged(spark, where, most_rows=12_000)
    broken = {row.requirement for row in in_memory(packed, info()) if row.findings}
    assert few.beyond
    assert {row.requirement for row in few.verdicts if row.verdict is Verdict.PASS}.isdisjoint(broken)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("most_rows", [1_500, pytest.param(6_000, marks=pytest.mark.long)])
def test_beyond_the_cap_nothing_is_found_that_all_rows_do_not_show(spark: Any, tmp_path: Path, most_rows: int) -> None:
    packed = pack(10, HISTORIES, DEFECTS)
    where = ledgers.write(tmp_path / "ledger", packed, info(), seed=10)
    few = judged(spark, where, most_rows=most_rows)
    rows, small = packed.rows(), packed.smalls()
    rules = all_rules(Evidence(rows, small, info(), sums(rows, small, info())))
    wrong = {(rule.requirement, breach.sentence) for rule in rules for breach in rule.known}
    assert {(row.requirement, finding.sentence) for row in few.verdicts for finding in row.findings} <= wrong
    assert few.beyond


def test_the_stack_has_every_word_once() -> None:
    assert tuple(word.name for word in WORDS) == Words._fields
