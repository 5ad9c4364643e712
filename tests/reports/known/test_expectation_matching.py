"""How judgements and entries meet: every rule of expectations, one test each."""

from __future__ import annotations

from datetime import date
from typing import Any

import msgspec
import pytest
from tests.listing import listing

from assay_conformance.model.verdict import VOID, Expected, Verdict
from assay_reports.expectation_matching import EntryState, may_be_hidden
from assay_reports.expectations import Known
from assay_reports.outcome import outcome

# `sample` builds judgements, entries and standings with defaults: see conftest.py beside the folder.
Sample = Any

OTHER_CASE = "ack/close-flushes"
OTHER = "resend.pending-sends-resent"
THIRD = "resend.send-timeout"


def test_listed_failure_is_expected(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.FAIL, "out-of-order"), entries=[sample.entry()])
    assert standing.rows[0].expected is Expected.EXPECTED_FAIL
    assert standing.entries[0].state is EntryState.MATCHED
    assert standing.cells[0].listed == ("resends by hash order",)


def test_unlisted_failure_is_unexpected(sample: Sample) -> None:
    assert sample.standing(sample.judged(Verdict.FAIL, "out-of-order")).rows[0].expected is Expected.UNEXPECTED


def test_other_code_on_a_listed_case_is_unexpected(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.FAIL, "lost", "out-of-order"), entries=[sample.entry()])
    assert standing.rows[0].expected is Expected.UNEXPECTED


def test_listed_code_in_another_case_is_unexpected(sample: Sample) -> None:
    judged = sample.judged(Verdict.FAIL, "out-of-order", case=OTHER_CASE)
    kept = sample.judged(Verdict.PASS)
    standing = sample.standing(judged, kept, entries=[sample.entry()])
    assert {cell.case: cell.expected for cell in standing.cells}[OTHER_CASE] is Expected.UNEXPECTED


def test_listed_always_failure_that_passes_is_stale(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.PASS), entries=[sample.entry()])
    assert standing.rows[0].expected is Expected.STALE
    assert standing.entries[0].state is EntryState.STALE


def test_listed_failure_that_passes_on_a_late_machine_is_undecided(sample: Sample) -> None:
    """The client met another course of things than the one that shows it."""
    late = msgspec.structs.replace(sample.judged(Verdict.PASS), machine_was_late=True)
    assert sample.standing(late, entries=[sample.entry()]).entries[0].state is EntryState.UNDECIDED


@pytest.mark.parametrize(("late", "doubted"), [(True, True), (False, False)])
def test_listed_failure_may_be_hidden_by_a_late_machine_alone(sample: Sample, late: bool, doubted: bool) -> None:
    known = [Known(listing([sample.entry()], agent="pulsar-python"), "3.13.0")]
    judged = msgspec.structs.replace(sample.judged(Verdict.PASS), machine_was_late=late)
    assert may_be_hidden(judged, known) is doubted


def test_listed_sometimes_failure_may_stay_away(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.PASS), entries=[sample.sometimes()])
    assert standing.rows[0].expected is Expected.TOLERATED
    assert standing.entries[0].state is EntryState.STAYED_AWAY


def test_listed_sometimes_failure_is_expected_when_it_comes(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.FAIL, "out-of-order"), entries=[sample.sometimes()])
    assert standing.rows[0].expected is Expected.EXPECTED_FAIL


@pytest.mark.parametrize(
    "verdict", [Verdict.INCONCLUSIVE, Verdict.INVALID, Verdict.HARNESS_ERROR, Verdict.UNAVAILABLE, Verdict.UNSUPPORTED]
)
def test_undecided_case_makes_no_entry_stale(sample: Sample, verdict: Verdict) -> None:
    standing = sample.standing(sample.judged(verdict), entries=[sample.entry()])
    assert standing.entries[0].state is EntryState.UNDECIDED


def test_failure_of_another_kind_hides_the_listed_one(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.FAIL, "agent-lost"), entries=[sample.entry()])
    assert standing.entries[0].state is EntryState.UNDECIDED
    assert standing.rows[0].expected is Expected.UNEXPECTED


def test_requirement_no_longer_exercised_in_a_judged_case_is_stale(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.PASS, requirement=OTHER), entries=[sample.entry()])
    assert standing.entries[0].state is EntryState.STALE


def test_requirement_not_exercised_in_a_case_of_which_the_machine_leaves_something_open_is_undecided(
    sample: Sample,
) -> None:
    passed = sample.judged(Verdict.PASS, requirement=OTHER)
    late = sample.judged(Verdict.INCONCLUSIVE, requirement=THIRD)
    standing = sample.standing(passed, late, entries=[sample.entry()])
    assert standing.entries[0].state is EntryState.UNDECIDED


def test_case_that_was_not_reached_decides_nothing(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.PASS, case=OTHER_CASE), entries=[sample.entry()])
    assert standing.entries[0].state is EntryState.UNDECIDED


def test_entry_of_unselected_case_is_neither_stale_nor_unmatched(sample: Sample) -> None:
    passed = sample.judged(Verdict.PASS, case=OTHER_CASE)
    standing = sample.standing(passed, entries=[sample.entry()], selected=[OTHER_CASE])
    assert standing.entries[0].state is EntryState.NOT_SELECTED
    assert standing.rows[0].expected is Expected.NOT_LISTED


def test_entry_for_other_versions_does_not_excuse(sample: Sample) -> None:
    failed = sample.judged(Verdict.FAIL, "out-of-order")
    standing = sample.standing(failed, entries=[sample.entry(versions="<3.0")])
    assert standing.rows[0].expected is Expected.UNEXPECTED


def test_entry_for_other_versions_is_not_stale(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.PASS), entries=[sample.entry(versions="<3.0")])
    assert standing.entries[0].state is EntryState.OTHER_VERSION
    assert standing.rows[0].expected is Expected.NOT_LISTED


def test_entry_holds_on_its_last_day(sample: Sample) -> None:
    listed = sample.entry(expires=date(2026, 6, 1))
    standing = sample.standing(sample.judged(Verdict.FAIL, "out-of-order"), entries=[listed], today=date(2026, 6, 1))
    assert standing.rows[0].expected is Expected.EXPECTED_FAIL


def test_expired_entry_is_told_though_the_failure_is_as_listed(sample: Sample) -> None:
    listed = sample.entry(expires=date(2026, 5, 31))
    standing = sample.standing(sample.judged(Verdict.FAIL, "out-of-order"), entries=[listed])
    assert standing.rows[0].expected is Expected.EXPIRED
    assert standing.entries[0].state is EntryState.EXPIRED


def test_untestable_can_be_listed_by_that_code(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.UNTESTABLE), entries=[sample.entry("untestable")])
    assert standing.rows[0].expected is Expected.EXPECTED_FAIL


def test_invalid_can_be_listed_by_that_code(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.INVALID), entries=[sample.entry("invalid")])
    assert standing.rows[0].expected is Expected.EXPECTED_FAIL
    assert standing.entries[0].state is EntryState.MATCHED


def test_case_listed_as_invalid_that_passes_is_stale(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.PASS), entries=[sample.entry("invalid")])
    assert standing.entries[0].state is EntryState.STALE


@pytest.mark.parametrize("verdict", sorted(VOID))
def test_unlisted_void_verdict_is_unexpected(sample: Sample, verdict: Verdict) -> None:
    assert sample.standing(sample.judged(verdict)).rows[0].expected is Expected.UNEXPECTED


def test_untestable_of_a_broker_is_merely_not_listed(sample: Sample) -> None:
    of_broker = sample.judged(Verdict.UNTESTABLE, requirement="ack.broker-keeps")
    assert sample.standing(of_broker).rows[0].expected is Expected.NOT_LISTED


def test_unlisted_warning_is_merely_not_listed(sample: Sample) -> None:
    assert sample.standing(sample.judged(Verdict.WARN, "late")).rows[0].expected is Expected.NOT_LISTED


def test_superseded_attempt_counts_for_nothing(sample: Sample) -> None:
    first = sample.judged(Verdict.FAIL, "out-of-order", superseded=True)
    standing = sample.standing(first, sample.judged(Verdict.PASS, attempt=2))
    assert standing.rows[0].expected is Expected.NOT_LISTED
    assert standing.cells[0].attempts == (2,)


def test_breach_in_one_of_two_attempts_is_the_listed_one(sample: Sample) -> None:
    standing = sample.standing(
        sample.judged(Verdict.PASS), sample.judged(Verdict.FAIL, "out-of-order", attempt=2), entries=[sample.entry()]
    )
    assert standing.entries[0].state is EntryState.MATCHED
    assert standing.cells[0].verdict is Verdict.FAIL


def test_row_takes_the_worst_state_of_its_cells(sample: Sample) -> None:
    listed = sample.judged(Verdict.FAIL, "out-of-order")
    new = sample.judged(Verdict.FAIL, "out-of-order", case=OTHER_CASE)
    assert sample.standing(listed, new, entries=[sample.entry()]).rows[0].expected is Expected.UNEXPECTED


def _of_pulsar(*entries: Any) -> list[Known]:
    return [Known(listing(entries, broker="Apache Pulsar"), "4.0.8")]


KEPT = {"requirement": "ack.broker-keeps", "case": "ack/close-flushes"}


def test_listed_failure_of_the_broker_is_expected(sample: Sample) -> None:
    entry = sample.entry("acked-again", "==4.0.8", **KEPT)
    standing = sample.standing(sample.judged(Verdict.FAIL, "acked-again", **KEPT), brokers=_of_pulsar(entry))
    assert standing.rows[0].expected is Expected.EXPECTED_FAIL
    assert [(one.state, one.broker) for one in standing.entries] == [(EntryState.MATCHED, "Apache Pulsar")]
    assert outcome(standing, selected=1).exit_code == 0


def test_entry_for_another_release_of_the_broker_excuses_nothing(sample: Sample) -> None:
    """Though the client's version is in its range."""
    entry = sample.entry("acked-again", "==3.13.0", **KEPT)
    standing = sample.standing(sample.judged(Verdict.FAIL, "acked-again", **KEPT), brokers=_of_pulsar(entry))
    assert standing.rows[0].expected is Expected.UNEXPECTED


def test_failure_of_the_broker_that_nobody_listed_fails_the_run(sample: Sample) -> None:
    standing = sample.standing(sample.judged(Verdict.FAIL, "acked-again", **KEPT), brokers=_of_pulsar())
    assert outcome(standing, selected=1).exit_code == 1


# --- permutations ---

PERMUTED = "resend/cut-after-second-receipt@lz4+batched"


@pytest.mark.parametrize("state", [Verdict.FAIL, Verdict.PASS])
def test_what_fails_in_a_case_may_fail_in_its_permutations(sample: Sample, state: Verdict) -> None:
    own = sample.judged(Verdict.FAIL, "out-of-order")
    judged = sample.judged(state, *(["out-of-order"] if state is Verdict.FAIL else []), case=PERMUTED)
    standing = sample.standing(own, judged, entries=[sample.entry()], selected=[own.case, PERMUTED])
    states = {cell.case: cell.expected for cell in standing.cells}
    assert states[PERMUTED] is (Expected.EXPECTED_FAIL if state is Verdict.FAIL else Expected.NOT_LISTED)
    assert standing.entries[0].state is EntryState.MATCHED


def test_permutation_alone_does_not_keep_an_entry_of_its_case_from_being_stale(sample: Sample) -> None:
    judged = [sample.judged(Verdict.PASS), sample.judged(Verdict.FAIL, "out-of-order", case=PERMUTED)]
    standing = sample.standing(*judged, entries=[sample.entry()], selected=[judged[0].case, PERMUTED])
    assert standing.entries[0].state is EntryState.STALE


@pytest.mark.parametrize("case", ["@batched", "@batched+lz4", "resend/cut-after-second-receipt@batched", PERMUTED])
def test_circumstance_can_be_listed(sample: Sample, case: str) -> None:
    judged = [sample.judged(Verdict.PASS), sample.judged(Verdict.FAIL, "out-of-order", case=PERMUTED)]
    standing = sample.standing(*judged, entries=[sample.entry(case=case)], selected=[judged[0].case, PERMUTED])
    assert {cell.case: cell.expected for cell in standing.cells}[PERMUTED] is Expected.EXPECTED_FAIL
    assert standing.entries[0].state is EntryState.MATCHED


@pytest.mark.parametrize("case", ["@shared", "@batched+shared", "ack/close-flushes@batched"])
def test_entry_of_other_circumstances_excuses_nothing(sample: Sample, case: str) -> None:
    judged = [sample.judged(Verdict.FAIL, "out-of-order", case=PERMUTED)]
    standing = sample.standing(*judged, entries=[sample.entry(case=case)], selected=[PERMUTED])
    assert standing.cells[0].expected is Expected.UNEXPECTED
    assert standing.entries[0].state is EntryState.NOT_SELECTED


def test_circumstance_without_its_failure_is_stale(sample: Sample) -> None:
    judged = [sample.judged(Verdict.PASS, case=PERMUTED)]
    standing = sample.standing(*judged, entries=[sample.entry(case="@batched")], selected=[PERMUTED])
    assert standing.entries[0].state is EntryState.STALE


def test_circumstance_under_which_nothing_exercised_the_requirement_is_not_stale(sample: Sample) -> None:
    """A few selected Cases, none of which has more than one message to batch."""
    judged = [sample.judged(Verdict.PASS, requirement=OTHER, case=PERMUTED)]
    standing = sample.standing(*judged, entries=[sample.entry(case="@batched")], selected=[PERMUTED])
    assert standing.entries[0].state is EntryState.UNDECIDED
