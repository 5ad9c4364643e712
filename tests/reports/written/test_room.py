"""Bounds of the page: what a large run shows, what it leaves to the run folder, and that it says so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest

from assay_conformance.model.run import LeftOut
from assay_conformance.model.verdict import Judgement, Verdict
from assay_reports.page import overview, page, room
from assay_reports.page.room import Family, families, part
from assay_reports.report import Report

if TYPE_CHECKING:
    from tests.reports.conftest import Sample

MOST_BYTES = 10_000_000
CASE = "resend/cut-after-second-receipt"


def test_permutations_are_counted_under_their_case() -> None:
    assert families(["a/x@1+cut", "a/y", "a/x", "b/z@2", "a/x@2"]) == [
        Family("a/x", plain=True, permutations=2),
        Family("a/y", plain=True, permutations=0),
        Family("b/z", plain=False, permutations=1),
    ]


def test_what_is_left_out_is_counted() -> None:
    assert part([1, 2, 3], 2) == room.Part([1, 2], more=1)


def test_cases_are_left_out_by_reason() -> None:
    told = dict(room.by_reason([("a", "tier"), ("b", "broker"), ("c", "tier")]))
    assert {reason: cases.shown for reason, cases in told.items()} == {"tier": ["a", "c"], "broker": ["b"]}


def test_a_long_sentence_is_cut_in_a_list() -> None:
    assert len(room.brief("word " * 1_000)) == room.MOST_WORDS + 1


def _report(sample: Sample, *judged: Judgement, left_out: tuple[LeftOut, ...] = ()) -> Report:
    """Of a run of exactly these Cases."""
    made = sample.report(*judged)
    cases = {judgement.case: sample.case(judgement.case) for judgement in judged}
    return replace(made, cases=cases, run=msgspec.structs.replace(made.run, left_out=left_out))


def test_a_failure_without_room_for_its_timeline_gets_a_line(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "STORIES_BYTES", 1)
    document = page(sample.report(sample.judged(Verdict.FAIL, "x")))
    assert "1 failure more, without a timeline on this page" in document
    assert "<article" not in document


def test_each_cause_gets_a_timeline_before_another_gets_two(sample: Sample) -> None:
    report = sample.report(
        sample.judged(Verdict.FAIL, "x", "y"), sample.judged(Verdict.FAIL, "x", case="ack/close-flushes")
    )
    causes = [(failures.finding.code, failures.cell.case) for failures in report.failures if failures.finding]
    first = [causes[number] for number in room._by_need(report.failures, set())][:2]
    assert sorted(code for code, _ in first) == ["x", "y"]


def test_quiet_permutations_share_a_row_where_rows_are_too_many(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "MOST_CASES", 2)
    rows = overview.cases(
        _report(sample, *(sample.judged(case=f"{CASE}@{number}" if number else CASE) for number in range(4)))
    )
    assert [(row.id, row.permutations) for row in rows.shown] == [(CASE, 3)]


def test_the_worst_cases_are_shown_where_there_are_too_many(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "MOST_CASES", 1)
    rows = overview.cases(sample.report(sample.judged(case="ack/close-flushes"), sample.judged(Verdict.FAIL, "x")))
    assert ([row.id for row in rows.shown], rows.more) == ([CASE], 1)


def test_the_page_says_where_the_other_cases_are(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "MOST_CASES", 1)
    document = page(sample.report(sample.judged(case="ack/close-flushes"), sample.judged(Verdict.FAIL, "x")))
    assert "1 Case more: <code>verdicts.json</code> beside this page holds all of them" in document


def test_thousands_of_cases_stay_below_ten_megabytes(sample: Sample) -> None:
    named = [f"resend/case-{number}@may-be-cut+1-of-3-partitions+short-ledgers" for number in range(12_000)]
    passed = [sample.judged(case=name) for name in named[1_000:]]
    failed = [sample.judged(Verdict.FAIL, "x", case=name) for name in named[:1_000]]
    assert len(page(_report(sample, *failed, *passed)).encode()) < MOST_BYTES


def test_what_was_left_out_is_told_by_reason(sample: Sample) -> None:
    left = tuple(LeftOut(f"a/case-{number}", "needs a cluster") for number in range(100))
    document = page(_report(sample, sample.judged(), left_out=left))
    assert "100 Cases: needs a cluster" in document
    assert f"and {100 - room.MOST_LEFT_OUT} more in <code>run.json</code>" in document
