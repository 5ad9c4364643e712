"""No lawful variant of the reference client is blamed, or leaves a check without what an honest client lets it see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.drawn import few_of
from tests.exam.test_both_ways import CASES, PACK
from tests.profiles import NIGHTLY

from assay_conformance.model.case import Case, Tier
from assay_conformance.model.outside import Means
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.variants import variant_facts, variants
from assay_fixtures.reference.probe import FACTS, ReferenceTrial
from assay_fixtures.runner.selection import Ground, select

TRIED = 15
"""Cases of a variant in CI."""


def cases_for(variant: str) -> Iterator[Case]:
    """Those of the requirements that allow it, and at night all Cases; but for those that ask for what it lacks."""
    within, facts = set(variants()[variant].within), variant_facts(FACTS, [variant])
    asked = select(CASES.values(), facts, PACK.catalogue, Tier.FULL, ground=Ground(tuple(Means))).run
    return (case for case in asked if NIGHTLY or within & set(case.requirements))


@pytest.mark.parametrize("variant", variants())
def test_a_variant_passes_as_an_honest_client_does(variant: str) -> None:
    trial, facts = ReferenceTrial(variants=frozenset({variant})), variant_facts(FACTS, [variant])
    others: dict[str, dict[RequirementId, tuple[str, str]]] = {}
    for case in few_of([*cases_for(variant)], TRIED):
        # What an option, or calls that go on together, bring about cannot be asked of a client without them.
        lawful = {"pass", "unsupported"} if facts.unsettable(case) or facts.kept_apart(case) else {"pass"}
        judged = {j.requirement: (j.verdict.value, j.reason) for j in trial.in_virtual_time(case).judgements}
        asked = {one: said for one, said in judged.items() if not facts.missing_for(PACK.catalogue.requirements[one])}
        if other := {requirement: said for requirement, said in asked.items() if said[0] not in lawful}:
            others[case.id] = other
    assert others == {}


@pytest.mark.parametrize("variant", variants())
def test_a_variant_is_seen_in_cases_of_what_allows_it(variant: str) -> None:
    assert any(True for _ in cases_for(variant)), f"no Case has requirements {variants()[variant].within}"
