"""Which Cases say nothing of a requirement that others exercised, and why: in verdicts.json, terminal and page."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import msgspec

from assay_conformance.model.verdict import Verdict
from assay_reports.console import print_report
from assay_reports.page import page
from assay_reports.report import Report
from assay_reports.terminal import terminal
from assay_reports.verdicts import read_verdicts, render, void

Sample = Any

NO_RECONNECT = "untestable: no reconnect came"
CLOSE_CASE = "ack/close-flushes"


def one_void(sample: Sample, **voids: int) -> Report:
    """A requirement that passes in one Case, and that another says nothing of."""
    report: Report = sample.report(
        sample.judged(), sample.judged(Verdict.UNTESTABLE, case=CLOSE_CASE, reason="no reconnect came")
    )
    (row,) = report.verdicts.requirements
    row = msgspec.structs.replace(row, verdict=Verdict.PASS, void=voids or {NO_RECONNECT: 1})
    return replace(report, verdicts=msgspec.structs.replace(report.verdicts, requirements=(row,)))


def printed(report: Report) -> str:
    out = io.StringIO()
    print_report(report, terminal(out, 120))
    return out.getvalue()


def test_verdicts_file_keeps_the_reasons(sample: Sample) -> None:
    (row,) = read_verdicts(render(one_void(sample).verdicts), "verdicts.json").requirements
    assert row.void == {NO_RECONNECT: 1}


def test_reasons_beyond_the_first_are_counted(sample: Sample) -> None:
    (row,) = one_void(sample, **{f"reason {number}": 9 - number for number in range(5)}).verdicts.requirements
    assert void(row)[2:] == ("7 Cases reason 2", "11 Cases for 2 other reasons, which verdicts.json has")


def test_table_says_it_below_the_requirement_and_the_case_is_reported(sample: Sample) -> None:
    text = printed(one_void(sample))
    assert "void in 1 Case" in text
    assert f"UNTESTABLE  resend.keeps-order in {CLOSE_CASE}" in text


def test_page_says_it_beside_the_title_and_gives_the_reason(sample: Sample) -> None:
    document = page(one_void(sample))
    assert '<span class="tag">void in 1 Case</span></summary>' in document
    assert f"<li>1 Case {NO_RECONNECT}</li>" in document


def test_a_run_without_void_cases_says_nothing_of_it(sample: Sample) -> None:
    report = sample.report(sample.judged())
    assert "void in" not in printed(report) + page(report)
