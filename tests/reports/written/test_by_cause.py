"""The page of a client that fails much: its failures stand by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from markupsafe import Markup

from assay_conformance.model.verdict import Verdict
from assay_reports.causes import MOST_IN_FULL, causes
from assay_reports.page import by_cause, page, room
from assay_reports.report import Report

if TYPE_CHECKING:
    from tests.reports.conftest import Sample

CODES = tuple(f"way-{number}" for number in range(MOST_IN_FULL + 1))
OTHER = "ack/close-flushes"


def _much(sample: Sample) -> Report:
    """Eleven kinds that show in two Cases, the first of them in both."""
    return sample.report(sample.judged(Verdict.FAIL, *CODES), sample.judged(Verdict.FAIL, CODES[0], case=OTHER))


def _blocks(report: Report) -> list[by_cause.Block]:
    found = causes(report.failures)
    unexpected, _ = room.sections(report.failures, lambda _: Markup("x"), [one.first for one in found])
    return list(by_cause.blocks(found, unexpected))


def test_failures_of_one_cause_stand_in_one_block(sample: Sample) -> None:
    (block,) = _blocks(_much(sample))
    assert list(block.cases.shown) == sorted({OTHER, block.first.cell.case, *block.cases.shown}, key=len)
    assert len(block.also.shown) == len(CODES) - 1
    assert len(block.failures.articles) + len(block.failures.brief.shown) == len(CODES) + 1


def test_failure_that_stands_for_its_cause_gets_a_timeline_first(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "STORIES_BYTES", 1)
    (block,) = _blocks(_much(sample))
    assert [one.failure for one in block.failures.articles] == [block.first]


def test_page_says_how_many_causes_there_probably_are(sample: Sample) -> None:
    assert "probably 1 cause." in page(_much(sample))


def test_page_of_few_failures_shows_each_by_itself(sample: Sample) -> None:
    assert "probably" not in page(sample.report(sample.judged(Verdict.FAIL, *CODES[:MOST_IN_FULL])))
