"""When a bug of a past version counts as noticed, and that the table speaks of what there is."""

from __future__ import annotations

import pytest
from bench.past_bugs.evidence import Evidence, Seen, kept
from bench.past_bugs.judging import Detection, Result, judged
from bench.past_bugs.page import PAGE, counts, page, results, table
from bench.past_bugs.pairs import NOT_RUN, PAIRS, Pair

from assay_conformance.model.verdict import Verdict
from assay_fixtures.packs import load_packs

CLAUSE = "producer.flush-waits"
PAIR = Pair("https://example.org/1", "a flush returns at once", "1.0", "1.1", (CLAUSE,))
BROKEN = Seen(Verdict.FAIL, ("flushed-early",))
PASSED = Seen(Verdict.PASS)


def _judged(affected: dict[str, Seen], fixed: dict[str, Seen], clause: str = CLAUSE) -> Result:
    versions = (Evidence(version="1.0", cells={clause: affected}), Evidence(version="1.1", cells={clause: fixed}))
    return judged(PAIR, *versions)


def _said(affected: dict[str, Seen], fixed: dict[str, Seen], clause: str = CLAUSE) -> Detection:
    return _judged(affected, fixed, clause).detection


def test_clause_that_only_the_affected_version_breaks_is_a_detection() -> None:
    assert _said({"a": BROKEN}, {"a": PASSED}) is Detection.DETECTED


def test_clause_that_both_break_in_the_same_case_is_noise() -> None:
    assert _said({"a": BROKEN}, {"a": BROKEN}) is Detection.NOISY


def test_clause_that_both_break_is_a_detection_in_a_case_that_tells_them_apart() -> None:
    assert _said({"a": BROKEN, "b": BROKEN}, {"a": BROKEN, "b": PASSED}) is Detection.DETECTED


def test_clause_that_the_fixed_version_keeps_in_all_cases_counts_by_both_counts() -> None:
    told = {"CPP-01": _judged({"a": BROKEN, "b": PASSED}, {"a": PASSED, "b": PASSED})}
    assert list(counts(told)) == [
        "- the same requirement in all Cases: **1 of 1**",
        "- the same requirement in the Case that showed it: 1 of 1",
    ]


def test_clause_that_the_fixed_version_breaks_elsewhere_counts_by_the_second_alone() -> None:
    told = {"CPP-01": _judged({"a": BROKEN}, {"a": PASSED, "b": BROKEN})}
    assert list(counts(told)) == [
        "- the same requirement in all Cases: **0 of 1**; without CPP-01",
        "- the same requirement in the Case that showed it: 1 of 1",
    ]


def test_clause_that_the_affected_version_never_came_to_is_told_apart() -> None:
    told = {"CPP-01": _judged({"a": Seen(Verdict.UNTESTABLE, ("untestable",))}, {"a": PASSED})}
    assert next(counts(told)).endswith("**1 of 1**, 0 of them by a finding, CPP-01 by what was untestable")


@pytest.mark.parametrize("verdict", [Verdict.UNTESTABLE, Verdict.FAIL])
def test_the_table_says_of_each_bug_how_it_was_broken(verdict: Verdict) -> None:
    result = _judged({"a": Seen(verdict, ("code",))}, {"a": PASSED})
    head, _, row = table({"CPP-01": result})
    place = head.split("|").index(" broken how ")
    assert row.split("|")[place].strip() == verdict


def test_at_least_thirteen_of_fifteen_are_noticed_by_a_requirement_that_the_fixed_version_keeps_in_all_cases() -> None:
    known = {row: result for row, result in results(kept()).items() if PAIRS[row].reproduced and row != "CPP-33"}
    assert len(known) == 15
    assert sum(result.everywhere for result in known.values()) >= 13


def test_fixed_version_that_was_not_judged_decides_nothing() -> None:
    assert _said({"a": BROKEN}, {"a": Seen(Verdict.INCONCLUSIVE)}) is Detection.UNDECIDED


def test_clause_that_nobody_breaks_misses_the_bug() -> None:
    assert _said({"a": PASSED}, {"a": PASSED}) is Detection.MISSED


def test_clause_that_the_bug_is_not_about_does_not_count() -> None:
    assert _said({"a": BROKEN}, {"a": PASSED}, "ordering.keeps-send-order") is Detection.MISSED


def test_finding_that_the_bug_would_not_make_does_not_count() -> None:
    pair = Pair("https://example.org/1", "a call never ends", "1.0", "1.1", (CLAUSE,), codes=("never-ended",))
    versions = (Evidence(version=v, cells={CLAUSE: {"a": seen}}) for v, seen in (("1.0", BROKEN), ("1.1", PASSED)))
    assert judged(pair, *versions).detection is Detection.MISSED


def test_no_bug_is_both_tried_and_not() -> None:
    assert PAIRS.keys() & NOT_RUN.keys() == set()


@pytest.mark.parametrize("row", PAIRS)
def test_every_clause_of_the_table_is_in_the_catalogue(row: str) -> None:
    assert set(PAIRS[row].requirements) - set(load_packs().catalogue.requirements) == set()


def test_the_page_says_what_is_kept() -> None:
    assert PAGE.read_text("utf-8") == page(kept())
