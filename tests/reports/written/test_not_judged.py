"""How often a requirement could not be judged, and why: in verdicts.json, terminal, `show` and page."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import Verdict
from assay_reports.console import print_report
from assay_reports.page import page
from assay_reports.page.overview import cells, filters
from assay_reports.report import Report
from assay_reports.story import print_story
from assay_reports.terminal import terminal
from assay_reports.verdicts import not_judged, read_verdicts, render

Sample = Any

UNKNOWN = "whose producer it was is not known"
KEEPS_ORDER = "resend.keeps-order"
CLOSE_CASE = "ack/close-flushes"


def some_unjudged(sample: Sample, **reasons: int) -> Report:
    """One requirement judged in two Cases; in the second of them not always."""
    unjudged = reasons or {UNKNOWN: 2}
    report: Report = sample.report(sample.judged(), sample.judged(case=CLOSE_CASE, not_judged=unjudged))
    return report


def printed(report: Report, width: int) -> str:
    out = io.StringIO()
    print_report(report, terminal(out, width))
    return out.getvalue()


def test_a_cell_has_the_reasons_of_all_its_attempts(sample: Sample) -> None:
    standing = sample.standing(
        sample.judged(not_judged={UNKNOWN: 2, "other": 1}), sample.judged(attempt=2, not_judged={UNKNOWN: 1})
    )
    assert [cell.not_judged for cell in standing.cells] == [{UNKNOWN: 3, "other": 1}]


def test_verdicts_file_keeps_the_reasons_of_each_case(sample: Sample) -> None:
    document = read_verdicts(render(some_unjudged(sample).verdicts), "verdicts.json")
    assert {cell.case: cell.not_judged for cell in document.cells if cell.not_judged} == {CLOSE_CASE: {UNKNOWN: 2}}


def test_most_frequent_reason_comes_first(sample: Sample) -> None:
    (row,) = some_unjudged(sample, rare=1, often=5).verdicts.requirements
    assert not_judged(row) == ("not judged 5 times: often", "not judged 1 time: rare")


def test_reasons_beyond_the_first_are_counted(sample: Sample) -> None:
    (row,) = some_unjudged(sample, **{f"reason {number}": 9 - number for number in range(5)}).verdicts.requirements
    assert not_judged(row)[3:] == ("not judged 11 times for 2 other reasons, which verdicts.json has",)


# --- terminal ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [63, 120])
def test_table_says_it_below_the_requirement(sample: Sample, width: int) -> None:
    lines = [line.strip() for line in printed(some_unjudged(sample), width).splitlines()]
    row = next(number for number, line in enumerate(lines) if line.startswith(KEEPS_ORDER))
    assert lines[row + 1] == "not judged 2 times"


def test_a_run_that_judged_everything_says_nothing_of_it(sample: Sample) -> None:
    assert "not judged" not in printed(sample.report(sample.judged()), 120)


@pytest.mark.parametrize("width", [40, 63, 64, 80, 120])
def test_table_with_what_was_not_judged_fits_its_terminal(sample: Sample, width: int) -> None:
    tables, _, _ = printed(some_unjudged(sample), width).partition("pulsar-client 3.13.0")
    assert max(map(len, tables.splitlines())) <= width


def test_summary_names_the_requirement_and_the_reason(sample: Sample) -> None:
    assert f"{KEEPS_ORDER}: not judged 2 times: {UNKNOWN}\n" in printed(some_unjudged(sample), 120)


def test_summary_counts_the_requirements_beyond_the_first(sample: Sample) -> None:
    rows = [
        sample.judged(requirement=RequirementId(id), not_judged={UNKNOWN: times})
        for id, times in [
            (KEEPS_ORDER, 5),
            ("resend.pending-sends-resent", 4),
            ("ack.flush-on-close", 2),
            ("ack.broker-keeps", 1),
        ]
    ]
    summary = printed(sample.report(*rows), 120).partition("pulsar-client 3.13.0")[2]
    assert summary.count(UNKNOWN) == 2
    assert "2 other requirements: not judged 3 times; the page says why\n" in summary


def test_story_of_a_case_says_what_was_not_judged_in_it(sample: Sample) -> None:
    out = io.StringIO()
    judged = sample.standing(sample.judged(not_judged={UNKNOWN: 2})).cells
    print_story(terminal(out, width=100), sample.case(), 1, sample.history(), judged, 200)
    assert out.getvalue().splitlines()[1:3] == [f"pass  {KEEPS_ORDER}", f"    not judged 2 times: {UNKNOWN}"]


# --- page -------------------------------------------------------------------------------------------------------------


def test_page_says_it_of_the_requirement_and_of_its_case(sample: Sample) -> None:
    document = page(some_unjudged(sample))
    assert document.count(f"<li>not judged 2 times: {UNKNOWN}</li>") == 2
    assert re.search(rf"<code>{CLOSE_CASE}</code><ul class=\"unjudged\">", document)


def test_page_says_it_beside_the_title(sample: Sample) -> None:
    tag = '<span class="tag">not judged 2 times</span></summary>'
    assert tag in page(some_unjudged(sample))
    assert "not judged" not in page(sample.report(sample.judged()))


def test_page_can_be_sifted_for_what_was_not_judged(sample: Sample) -> None:
    flushes = sample.judged(requirement="ack.flush-on-close")
    report = sample.report(flushes, sample.judged(not_judged={UNKNOWN: 2}))
    found = {one.name: [(choice.value, choice.count) for choice in one.choices] for one in filters(report)}
    assert found["judged"] == [("always", 1), ("not always", 1)]
    assert 'data-judged="not always"' in page(report)


def test_a_case_that_passed_and_was_not_always_judged_has_something_to_tell(sample: Sample) -> None:
    under = cells(some_unjudged(sample))[RequirementId(KEEPS_ORDER)]
    assert [(cell.case, cell.verdict) for cell in under.listed.shown] == [(CLOSE_CASE, Verdict.PASS)]


def test_reasons_are_text_whatever_stands_in_them(sample: Sample) -> None:
    assert "not judged 1 time: &lt;b&gt;" in page(some_unjudged(sample, **{"<b>": 1}))
