"""No lawful variant of the reference client is blamed, or leaves a check without what an honest client lets it see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.exam.test_both_ways import CASES
from tests.profiles import NIGHTLY

from assay_conformance.model.case import Case
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.variants import variants
from assay_fixtures.reference.probe import ReferenceTrial


def cases_for(variant: str) -> Iterator[Case]:
    """Those of the requirements that allow it; at night all Cases."""
    within = set(variants()[variant].within)
    return (case for case in CASES.values() if NIGHTLY or within & set(case.requirements))


@pytest.mark.parametrize("variant", variants())
def test_a_variant_passes_as_an_honest_client_does(variant: str) -> None:
    trial, others = ReferenceTrial(variants=frozenset({variant})), dict[str, dict[RequirementId, tuple[str, str]]]()
    for case in cases_for(variant):
        judged = {j.requirement: (j.verdict.value, j.reason) for j in trial.in_virtual_time(case).judgements}
        if other := {requirement: said for requirement, said in judged.items() if said[0] != "pass"}:
            others[case.id] = other
    assert others == {}


@pytest.mark.parametrize("variant", variants())
def test_a_variant_is_seen_in_cases_of_what_allows_it(variant: str) -> None:
    assert any(True for _ in cases_for(variant)), f"no Case has requirements {variants()[variant].within}"
