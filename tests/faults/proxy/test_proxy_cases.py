"""Every Case behind the proxy comes to what it comes to when the link sits inside the broker."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.model.case import Case
from assay_conformance.model.outside import MEANS
from assay_conformance.model.verdict import Verdict
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import ReferenceTrial

ELSEWHERE = {
    "throttling/more-than-may-be-unwritten": "what a broker does not read any more has crossed the proxy all the same",
}
"""Cases about what only a link inside the broker can see."""
CASES = [
    case
    for case in load_packs().cases
    if case.id not in ELSEWHERE and not any(type(fault.action) in MEANS for fault in case.faults)
]


def _verdicts(case: Case, trial: ReferenceTrial) -> dict[str, Verdict]:
    return {judgement.requirement: judgement.verdict for judgement in trial.in_virtual_time(case).judgements}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case_behind_the_proxy_passes_as_without(case: Case, proxied: Any) -> None:
    site = proxied()
    behind, direct = _verdicts(case, ReferenceTrial(site=site)), _verdicts(case, ReferenceTrial())
    assert [behind.get(id) for id in case.requirements] == [direct.get(id) for id in case.requirements]
    assert set(behind.values()) <= {Verdict.PASS, *direct.values()}
    assert site.worlds[-1].proxy.troubles == []
