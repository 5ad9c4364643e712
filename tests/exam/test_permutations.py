"""A broken rule shows under circumstances that do not matter to its Case, too."""

from __future__ import annotations

import pytest

from assay_conformance.cases.permutations import permuted
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import Verdict
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import ReferenceTrial

CASES = {case.id: case for case in load_packs().cases}


@pytest.mark.parametrize("case_id", ["chunking/chunk-sent-twice", "chunking/chunk-redelivered"])
def test_what_a_consumer_made_active_late_withholds_shows(case_id: str) -> None:
    gives_up = ReferenceTrial(mutants=frozenset({"drops-message-on-repeated-chunk"}))
    told = gives_up.in_virtual_time(permuted(CASES[case_id], ("failover",))).judgements
    verdicts = {judgement.requirement: judgement.verdict for judgement in told}
    assert verdicts[RequirementId("chunking.repeated-chunk-dropped")] is Verdict.FAIL
