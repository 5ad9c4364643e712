"""The fold is a table; and no order of judgements changes it."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_conformance.checks.fold import fold
from assay_conformance.checks.judge import MACHINE_WAS_LATE
from assay_conformance.model.requirement import Disposition, Level, Requirement, RequirementId, Side, Source, Status
from assay_conformance.model.verdict import (
    EXERCISED,
    VOID,
    WORST_FIRST,
    Finding,
    Grade,
    Judgement,
    RequirementVerdict,
    Verdict,
)

CASES = ("chapter/a", "chapter/b", "chapter/c")


def requirement(words: str = "ack.example", level: Level = Level.MUST) -> Requirement:
    return Requirement(
        id=RequirementId(words),
        row="ACK-001",
        title="An example",
        level=level,
        side=Side.CLIENT,
        status=Status.DOCUMENTED,
        disposition=Disposition.TESTED,
        clause="Something must hold.",
        sources=(Source("a document"),),
    )


def judged(verdict: Verdict, case: str = "chapter/a", exercised: int = 1, **more: object) -> Judgement:
    fields = {"requirement": requirement().id, "case": case, "verdict": verdict, "exercised": exercised, **more}
    return Judgement(**fields)  # type: ignore[arg-type]


def finding(case: str = "chapter/a", code: str = "too-late") -> Finding:
    return Finding(
        requirement=requirement().id, code=code, case=case, sentence="too late", events=(1, 2), grade=Grade.B
    )


def row(*judgements: Judgement, level: Level = Level.MUST) -> RequirementVerdict:
    (only,) = fold(judgements, {"ack.example": requirement(level=level)}, CASES)
    return only


PAIRS = [pair for pair in combinations(WORST_FIRST, 2) if not (pair[0] in VOID and pair[1] in EXERCISED)]


@pytest.mark.parametrize(("worse", "better"), PAIRS)
def test_worse_verdict_wins(worse: Verdict, better: Verdict) -> None:
    assert row(judged(better), judged(worse, "chapter/b")).verdict is worse


def test_proof_against_client_outranks_unfired_fault() -> None:
    assert row(judged(Verdict.INVALID), judged(Verdict.FAIL, "chapter/b")).verdict is Verdict.FAIL


@pytest.mark.parametrize("void", sorted(VOID))
@pytest.mark.parametrize("verdict", sorted(EXERCISED))
def test_a_void_case_does_not_change_what_another_exercised(void: Verdict, verdict: Verdict) -> None:
    told = row(judged(void, exercised=0, reason="no reconnect came"), judged(verdict, "chapter/b"))
    assert (told.verdict, told.void) == (row(judged(verdict)).verdict, {f"{void.value}: no reconnect came": 1})


def test_a_case_that_was_not_reached_twice_is_counted_by_reason() -> None:
    voids = (judged(Verdict.INVALID, case, 0, reason="fault 0 never fired") for case in CASES[:2])
    assert row(*voids, judged(Verdict.PASS, CASES[2])).void == {"invalid: fault 0 never fired": 2}


def test_a_void_case_leaves_open_what_only_an_undecided_one_might_have_exercised() -> None:
    assert row(judged(Verdict.INCONCLUSIVE), judged(Verdict.INVALID, "chapter/b")).verdict is Verdict.INVALID


PERMUTED = "chapter/a@lz4"


@pytest.mark.parametrize("verdict", sorted(EXERCISED))
def test_an_inconclusive_permutation_does_not_change_what_another_case_exercised(verdict: Verdict) -> None:
    judgements = [judged(Verdict.INCONCLUSIVE, PERMUTED, reason="too busy"), judged(verdict)]
    (told,) = fold(judgements, {"ack.example": requirement()}, (*CASES, PERMUTED))
    assert (told.verdict, told.void) == (row(judged(verdict)).verdict, {"inconclusive: too busy": 1})


def test_an_inconclusive_permutation_leaves_open_what_no_other_case_exercised() -> None:
    judgements = [judged(Verdict.INCONCLUSIVE, PERMUTED), judged(Verdict.UNSUPPORTED)]
    (told,) = fold(judgements, {"ack.example": requirement()}, (*CASES, PERMUTED))
    assert (told.verdict, told.void) == (Verdict.INCONCLUSIVE, {})


LATE = f"{MACHINE_WAS_LATE} 300 ms in all: what did not come about may only be late"


def test_a_case_that_a_late_machine_kept_from_it_does_not_change_what_another_exercised() -> None:
    told = row(judged(Verdict.INCONCLUSIVE, exercised=0, reason=LATE), judged(Verdict.PASS, "chapter/b"))
    assert (told.verdict, told.void) == (Verdict.PASS, {f"inconclusive: {LATE}": 1})


@pytest.mark.parametrize(
    "seen", [{"exercised": 1, "reason": LATE}, {"not_judged": {"too busy": 1}, "reason": LATE}, {"reason": "too busy"}]
)
def test_a_case_that_saw_something_it_could_not_judge_leaves_it_open(seen: dict[str, object]) -> None:
    left_open = judged(Verdict.INCONCLUSIVE, **{"exercised": 0, **seen})  # type: ignore[arg-type]
    assert row(left_open, judged(Verdict.PASS, "chapter/b")).verdict is Verdict.INCONCLUSIVE


def test_a_case_that_a_late_machine_kept_from_it_leaves_open_what_no_other_exercised() -> None:
    assert row(judged(Verdict.INCONCLUSIVE, exercised=0, reason=LATE)).verdict is Verdict.INCONCLUSIVE


def test_a_pass_without_its_precondition_is_void_beside_one_with_it() -> None:
    told = row(judged(Verdict.PASS, exercised=0), judged(Verdict.PASS, "chapter/b"))
    assert (told.verdict, told.void) == (Verdict.PASS, {"untestable": 1})


def test_superseded_attempt_does_not_fold() -> None:
    again = judged(Verdict.PASS, attempt=2)
    assert row(judged(Verdict.INCONCLUSIVE, superseded=True, exercised=7), again) == row(again)


def test_unselected_case_does_not_fold() -> None:
    assert fold([judged(Verdict.FAIL, "chapter/unselected")], {"ack.example": requirement()}, CASES) == ()


def test_exercised_is_summed() -> None:
    assert row(judged(Verdict.PASS, exercised=2), judged(Verdict.PASS, "chapter/b", exercised=3)).exercised == 5


def test_nothing_exercised_is_never_pass() -> None:
    assert row(judged(Verdict.PASS, exercised=0)).verdict is Verdict.UNTESTABLE


@pytest.mark.parametrize(
    ("level", "verdict"), [(Level.MUST, Verdict.FAIL), (Level.SHOULD, Verdict.WARN), (Level.MAY, Verdict.INFO)]
)
def test_breach_weighs_what_its_level_says(level: Level, verdict: Verdict) -> None:
    assert row(judged(Verdict.FAIL, findings=(finding(),)), level=level).verdict is verdict


def test_reason_is_that_of_the_worst() -> None:
    assert row(judged(Verdict.PASS), judged(Verdict.FAIL, "chapter/b", reason="lost 3")).reason == "lost 3"


def test_rows_come_in_catalogue_order() -> None:
    requirements = {words: requirement(words) for words in ("nack.example", "ack.example")}
    judgements = [judged(Verdict.PASS, requirement=RequirementId(words)) for words in ("ack.example", "nack.example")]
    assert [row.requirement for row in fold(judgements, requirements, CASES)] == ["nack.example", "ack.example"]


def test_findings_of_all_cases_are_kept() -> None:
    parts = [judged(Verdict.FAIL, case, findings=(finding(case),)) for case in ("chapter/b", "chapter/a")]
    assert [found.case for found in row(*parts).findings] == ["chapter/a", "chapter/b"]


_JUDGEMENTS = st.lists(
    st.builds(
        judged,
        st.sampled_from(Verdict),
        st.sampled_from((*CASES, "chapter/unselected")),
        st.integers(0, 3),
        attempt=st.integers(1, 3),
        superseded=st.booleans(),
        reason=st.sampled_from(("", "late", "lost")),
        findings=st.lists(
            st.builds(finding, st.sampled_from(CASES), st.sampled_from(("late", "lost"))), max_size=2
        ).map(tuple),
    ),
    max_size=6,
)


@given(st.data(), _JUDGEMENTS)
def test_order_of_judgements_does_not_matter(data: st.DataObject, judgements: list[Judgement]) -> None:
    shuffled = data.draw(st.permutations(judgements))
    requirements = {"ack.example": requirement()}
    assert fold(shuffled, requirements, CASES) == fold(judgements, requirements, CASES)


@given(_JUDGEMENTS, st.sampled_from(Verdict))
def test_another_judgement_makes_nothing_better_but_what_was_void(
    judgements: list[Judgement], verdict: Verdict
) -> None:
    before = row(judged(Verdict.UNSUPPORTED), *judgements).verdict
    after = row(judged(Verdict.UNSUPPORTED), *judgements, judged(verdict)).verdict
    was_exercised = before in VOID and verdict in EXERCISED
    assert was_exercised or WORST_FIRST.index(after) <= WORST_FIRST.index(before)
