"""The exit code: one test a row of its table, and the precedence."""

from __future__ import annotations

from datetime import date
from itertools import combinations
from typing import Any

import pytest

from assay_conformance.model.verdict import VOID, Verdict
from assay_reports.outcome import EXIT_CODE, PRECEDENCE, WORDS, Cause, Outcome, exit_code, outcome

Sample = Any

CUT_CASE = "resend/cut-after-second-receipt"


def causes(told: Outcome) -> set[Cause]:
    return {reason.cause for reason in told.reasons}


def test_all_passing_is_zero(sample: Sample) -> None:
    assert outcome(sample.standing(sample.judged()), selected=2).exit_code == 0


def test_listed_failure_is_zero(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.FAIL, "out-of-order"), entries=[sample.entry()])
    assert outcome(standing, selected=2).exit_code == 0


@pytest.mark.parametrize("verdict", [Verdict.INFO, Verdict.WARN, Verdict.UNSUPPORTED, Verdict.UNAVAILABLE])
def test_verdict_that_changes_no_exit_code(sample: Sample, verdict: Verdict) -> None:
    other = sample.judged(requirement="resend.pending-sends-resent")
    assert outcome(sample.standing(sample.judged(verdict), other), selected=2).exit_code == 0


@pytest.mark.parametrize(
    ("verdict", "code", "cause"),
    [
        (Verdict.FAIL, 1, Cause.UNEXPECTED_FAILURE),
        (Verdict.UNTESTABLE, 1, Cause.UNEXPECTED_FAILURE),
        (Verdict.INVALID, 3, Cause.INVALID),
        (Verdict.INCONCLUSIVE, 3, Cause.INCONCLUSIVE),
        (Verdict.HARNESS_ERROR, 4, Cause.HARNESS_ERROR),
    ],
)
def test_verdict_sets_the_exit_code(sample: Sample, verdict: Verdict, code: int, cause: Cause) -> None:
    codes = ("out-of-order",) if verdict is Verdict.FAIL else ()
    told = outcome(sample.standing(sample.judged(verdict, *codes, exercised=1)), selected=2)
    assert (told.exit_code, causes(told)) == (code, {cause})


@pytest.mark.parametrize("verdict", sorted(VOID))
def test_what_a_case_says_nothing_of_can_be_listed(sample: Sample, verdict: Verdict) -> None:
    other = sample.judged(requirement="resend.pending-sends-resent")
    standing = sample.standing(sample.judged(verdict), other, entries=[sample.entry(verdict.value)])
    assert outcome(standing, selected=2).exit_code == 0


@pytest.mark.parametrize("pair", [(Verdict.UNTESTABLE, "invalid"), (Verdict.INVALID, "untestable")])
def test_listed_as_the_other_it_counts(sample: Sample, pair: tuple[Verdict, str]) -> None:
    standing = sample.standing(sample.judged(pair[0]), entries=[sample.entry(pair[1])])
    assert outcome(standing, selected=2).exit_code != 0


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.UNTESTABLE, 0), (Verdict.INVALID, 3), (Verdict.FAIL, 1)])
def test_what_is_untestable_of_a_broker_is_not_the_clients(sample: Sample, verdict: Verdict, code: int) -> None:
    of_broker = sample.judged(verdict, requirement="ack.broker-keeps", case="ack/close-flushes")
    assert outcome(sample.standing(sample.judged(), of_broker), selected=2).exit_code == code


@pytest.mark.parametrize("verdict", sorted(VOID))
def test_what_another_failure_kept_away_is_counted_there(sample: Sample, verdict: Verdict) -> None:
    hung = sample.judged(Verdict.FAIL, "gave-up", requirement="resend.pending-sends-resent")
    told = outcome(sample.standing(sample.judged(verdict, kept_away_by=hung.requirement), hung), selected=2)
    assert [reason.sentence for reason in told.reasons] == [f"{hung.requirement} in {hung.case}: gave-up"]


def permuted(sample: Sample, verdict: Verdict, **fields: Any) -> Any:
    return sample.judged(verdict, case=f"{CUT_CASE}@lz4", **fields)


OPEN = sorted(VOID | {Verdict.INCONCLUSIVE})
CODES = [(Verdict.UNTESTABLE, 1), (Verdict.INVALID, 3), (Verdict.INCONCLUSIVE, 3)]


@pytest.mark.parametrize("verdict", OPEN)
def test_open_permutation_of_what_another_case_exercised_is_a_note(sample: Sample, verdict: Verdict) -> None:
    standing = sample.standing(sample.judged(), permuted(sample, verdict, exercised=0))
    assert [cell.case for cell in standing.beside] == [f"{CUT_CASE}@lz4"]
    assert outcome(standing, selected=2) == Outcome(exit_code=0)


@pytest.mark.parametrize(("verdict", "code"), CODES)
def test_open_permutation_counts_when_strict(sample: Sample, verdict: Verdict, code: int) -> None:
    standing = sample.standing(sample.judged(), permuted(sample, verdict, exercised=0))
    told = outcome(standing, selected=2, strict=True)
    assert (told.exit_code, len(told.reasons)) == (code, 1)


@pytest.mark.parametrize(("verdict", "code"), CODES)
def test_open_permutation_of_what_no_case_exercised_counts(sample: Sample, verdict: Verdict, code: int) -> None:
    other = sample.judged(requirement="resend.pending-sends-resent")
    standing = sample.standing(other, permuted(sample, verdict, exercised=0))
    assert outcome(standing, selected=2).exit_code == code


@pytest.mark.parametrize(("verdict", "code"), CODES)
def test_open_case_counts_although_its_permutation_exercised_it(sample: Sample, verdict: Verdict, code: int) -> None:
    standing = sample.standing(sample.judged(verdict, exercised=0), permuted(sample, Verdict.PASS))
    assert outcome(standing, selected=2).exit_code == code


def test_void_permutation_that_another_failure_explains_is_not_counted_twice_when_strict(sample: Sample) -> None:
    hung = sample.judged(Verdict.FAIL, "gave-up", requirement="resend.pending-sends-resent")
    void = permuted(sample, Verdict.UNTESTABLE, kept_away_by=hung.requirement)
    told = outcome(sample.standing(sample.judged(), void, hung), selected=2, strict=True)
    assert len(told.reasons) == 1


def test_reason_says_why_a_case_says_nothing(sample: Sample) -> None:
    other = sample.judged(requirement="resend.pending-sends-resent")
    standing = sample.standing(sample.judged(Verdict.UNTESTABLE, reason="no reconnect"), other)
    (reason,) = outcome(standing, selected=2).reasons
    assert reason.sentence.endswith(": untestable, no reconnect")


def test_failure_without_any_finding_still_fails(sample: Sample) -> None:
    assert outcome(sample.standing(sample.judged(Verdict.FAIL)), selected=2).exit_code == 1


def test_listed_failure_does_not_hide_an_inconclusive_case(sample: Sample) -> None:
    failed = sample.judged(Verdict.FAIL, "out-of-order")
    open_ = sample.judged(Verdict.INCONCLUSIVE, case="ack/close-flushes")
    assert outcome(sample.standing(failed, open_, entries=[sample.entry()]), selected=2).exit_code == 3


def test_what_an_exploration_leaves_open_is_three_though_all_that_is_kept_passed(sample: Sample) -> None:
    told = outcome(sample.standing(sample.judged()), selected=2, explored=("a.b: c, again in 3 of 3 fresh runs",))
    assert (told.exit_code, causes(told)) == (3, {Cause.INCONCLUSIVE})


def test_what_an_exploration_leaves_open_hides_no_failure(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.FAIL, "out-of-order"))
    assert outcome(standing, selected=2, explored=("a.b: c",)).exit_code == 1


@pytest.mark.parametrize(("explored", "sentence"), [(None, "assay list cases"), ((), "before a Case was kept")])
def test_nothing_to_judge_is_told_as_what_it_is(explored: Any, sentence: str, sample: Sample) -> None:
    (reason,) = outcome(sample.standing(), selected=0, explored=explored).reasons
    assert sentence in reason.sentence


def test_stale_entry_is_one(sample: Sample) -> None:
    told = outcome(sample.standing(sample.judged(), entries=[sample.entry()]), selected=2)
    assert (told.exit_code, causes(told)) == (1, {Cause.STALE})


def test_expired_entry_is_one_and_nothing_else(sample: Sample) -> None:
    listed = sample.entry(expires=date(2026, 5, 1))
    told = outcome(sample.standing(sample.judged(Verdict.FAIL, "out-of-order"), entries=[listed]), selected=2)
    assert (told.exit_code, causes(told)) == (1, {Cause.EXPIRED})


def test_warning_counts_when_strict(sample: Sample) -> None:
    told = outcome(sample.standing(sample.judged(Verdict.WARN, "late")), selected=2, strict=True)
    assert (told.exit_code, causes(told)) == (1, {Cause.WARNING})


def test_listed_warning_does_not_count_when_strict(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.WARN, "late"), entries=[sample.entry("late")])
    assert outcome(standing, selected=2, strict=True).exit_code == 0


def test_nothing_selected_is_never_zero(sample: Sample) -> None:
    told = outcome(sample.standing(), selected=0)
    assert (told.exit_code, causes(told)) == (3, {Cause.NOTHING_SELECTED})


def test_nothing_exercised_is_never_zero(sample: Sample) -> None:
    told = outcome(sample.standing(sample.judged(Verdict.UNSUPPORTED)), selected=2)
    assert (told.exit_code, causes(told)) == (3, {Cause.NOTHING_EXERCISED})


def test_means_asked_for_by_name_and_not_there_are_three(sample: Sample) -> None:
    told = outcome(sample.standing(sample.judged()), selected=2, asked_for_unavailable={"toxiproxy": "no server"})
    assert (told.exit_code, causes(told)) == (3, {Cause.UNAVAILABLE})


def test_interruption_outranks_a_failure(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.FAIL, "out-of-order"))
    assert outcome(standing, selected=2, ended_early=Cause.INTERRUPTED).exit_code == 130


@pytest.mark.parametrize("pair", list(combinations(Cause, 2)), ids=lambda pair: "+".join(pair))
def test_first_code_in_precedence_wins(pair: tuple[Cause, Cause]) -> None:
    assert exit_code(iter(pair)) == min((EXIT_CODE[cause] for cause in pair), key=(130, 2, 4, 1, 3, 0).index)


def test_every_cause_has_a_code_with_rank_and_words() -> None:
    assert set(EXIT_CODE) == set(Cause)
    assert set(EXIT_CODE.values()) | {0} == set(PRECEDENCE) == set(WORDS)


def test_reason_names_requirement_case_and_code(sample: Sample) -> None:
    (reason,) = outcome(sample.standing(sample.judged(Verdict.FAIL, "out-of-order")), selected=2).reasons
    assert reason.sentence == "resend.keeps-order in resend/cut-after-second-receipt: out-of-order"


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (Cause.INTERRUPTED, "the run was interrupted: 1 of 2 Cases had been judged, and are kept"),
        (Cause.BROKEN_OFF, "the run broke off, killed or out of means: 1 of 2 Cases had been judged, and are kept"),
    ],
)
def test_run_that_ended_early_says_how_far_it_came(sample: Sample, cause: Cause, words: str) -> None:
    told = outcome(sample.standing(sample.judged()), selected=2, ended_early=cause)
    assert [(reason.cause, reason.sentence) for reason in told.reasons] == [(cause, words)]
