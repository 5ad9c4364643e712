"""Where frames and rows are judged by one requirement, they agree: what a rule finds in the rows of a history, the
check on its frames finds too; and an honest client breaks neither."""

from __future__ import annotations

import pytest

from assay_conformance.ledger import clauses
from assay_conformance.ledger.from_history import transcribe
from assay_conformance.ledger.from_history.evidence import HistoryEvidence
from assay_conformance.ledger.judge import all_rules
from assay_conformance.model.verdict import BROKEN
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import FACTS, ReferenceTrial, Tried

CASES = {case.id: case for case in load_packs().cases}

AGREED: list[tuple[str, str, str]] = [
    ("reorders-appends", "ordering/pipelined-sends", clauses.ORDER),
    ("delay-ignored", "delayed/strict-delivery-time", clauses.DUE),
    ("redelivery-count-stays-zero", "nack/nacked-three-times", clauses.COUNTED),
    ("nack-early", "nack/default-delay", clauses.WINDOW),
    ("publishes-again-after-resend", "dedup/effectively-once", clauses.DEDUP),
    ("key-shared-skips-draining", "subscription/key-shared-consumers-join-and-leave", clauses.KEY_ORDER),
]


def by_rows(tried: Tried) -> set[str]:
    rules = all_rules(HistoryEvidence(transcribe(tried.events, tried.case, FACTS)))
    return {rule.requirement for rule in rules if rule.count}


def by_frames(tried: Tried) -> set[str]:
    return {judgement.requirement for judgement in tried.judgements if judgement.verdict in BROKEN.values()}


@pytest.mark.parametrize(("mutation", "case", "requirement"), AGREED)
def test_rows_and_frames_find_the_same_rule_broken(mutation: str, case: str, requirement: str) -> None:
    tried = ReferenceTrial(mutants=frozenset({mutation})).in_virtual_time(CASES[case])
    assert requirement in by_rows(tried) & by_frames(tried)


@pytest.mark.parametrize(("case", "requirement"), [(case, requirement) for _, case, requirement in AGREED])
def test_rows_and_frames_of_an_honest_run_break_nothing(case: str, requirement: str) -> None:
    tried = ReferenceTrial().in_virtual_time(CASES[case])
    assert requirement not in by_rows(tried) | by_frames(tried)
