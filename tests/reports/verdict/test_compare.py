"""Two runs side by side: what counts as a difference, and what does not."""

from __future__ import annotations

from typing import Any

import msgspec

from assay_conformance.model.verdict import Verdict
from assay_reports.compare import Comparison, compare
from assay_reports.verdicts import Verdicts

Sample = Any
OTHER = "resend.pending-sends-resent"
CLOSE = "ack/close-flushes"


def document(sample: Sample, *judgements: Any) -> Verdicts:
    verdicts: Verdicts = sample.report(*judgements).verdicts
    return verdicts


def lines(found: Any) -> list[str]:
    return [str(one) for one in found]


def test_run_beside_itself_is_the_same(sample: Sample) -> None:
    run = document(sample, sample.judged(Verdict.FAIL, "out-of-order"))
    assert compare(run, run) == Comparison(circumstances=(), requirements=(), cells=(), only_before=(), only_after=())


def test_other_sentences_and_counts_are_no_difference(sample: Sample) -> None:
    one = sample.judged(Verdict.FAIL, findings=(sample.finding(sentence="one"),), exercised=3)
    two = sample.judged(Verdict.FAIL, findings=(sample.finding(sentence="two"),), exercised=9)
    assert compare(document(sample, one), document(sample, two)).same


def test_new_failure_is_told_by_requirement_and_by_case(sample: Sample) -> None:
    found = compare(document(sample, sample.judged()), document(sample, sample.judged(Verdict.FAIL, "out-of-order")))
    assert lines(found.requirements) == ["resend.keeps-order: pass -> fail (out-of-order)"]
    assert lines(found.cells) == [
        "resend.keeps-order in resend/cut-after-second-receipt: no finding -> fail (out-of-order)"
    ]
    assert not found.same


def test_other_code_in_a_case_is_a_difference_though_the_verdict_is_the_same(sample: Sample) -> None:
    found = compare(
        document(sample, sample.judged(Verdict.FAIL, "lost")), document(sample, sample.judged(Verdict.FAIL, "twice"))
    )
    assert lines(found.cells) == ["resend.keeps-order in resend/cut-after-second-receipt: fail (lost) -> fail (twice)"]


def test_what_came_and_went_within_one_run_is_no_change(sample: Sample) -> None:
    failed, passed = sample.judged(Verdict.FAIL, "lost"), msgspec.structs.replace(sample.judged(), attempt=2)
    found = compare(document(sample, failed, passed), document(sample, sample.judged()))
    assert (found.same, found.requirements, found.cells) == (True, (), ())
    assert lines(found.unsteady) == ["resend.keeps-order in resend/cut-after-second-receipt: fail (lost) -> no finding"]


def test_what_both_attempts_of_a_run_show_is_a_change(sample: Sample) -> None:
    first, finding = sample.judged(Verdict.FAIL, "lost"), sample.finding(code="lost", attempt=2)
    again = msgspec.structs.replace(first, attempt=2, findings=(finding,))
    assert not compare(document(sample, first, again), document(sample, sample.judged())).same


def test_requirement_exercised_in_one_run_alone_is_no_difference(sample: Sample) -> None:
    found = compare(
        document(sample, sample.judged()), document(sample, sample.judged(), sample.judged(requirement=OTHER))
    )
    assert found.same


def test_case_of_one_run_alone_is_named_and_is_no_difference(sample: Sample) -> None:
    found = compare(
        document(sample, sample.judged()),
        document(sample, sample.judged(), sample.judged(Verdict.FAIL, "lost", requirement=OTHER, case=CLOSE)),
    )
    assert (found.only_before, found.only_after, found.same) == ((), (CLOSE,), True)


def test_other_version_is_a_circumstance(sample: Sample) -> None:
    run = document(sample, sample.judged())
    older = msgspec.structs.replace(run, subject=msgspec.structs.replace(run.subject, version="3.12.0"))
    found = compare(older, run)
    assert lines(found.circumstances) == ["version: 3.12.0 -> 3.13.0"]
    assert found.same
