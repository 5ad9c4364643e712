"""Every Case behind the proxy comes to what it comes to when the link sits inside the broker."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.model.case import Case
from assay_conformance.model.outside import MEANS
from assay_conformance.model.verdict import Verdict
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import ReferenceTrial

UNREAD = "what a broker does not read any more has crossed the proxy all the same"
ELSEWHERE = {
    "connection/behind-a-proxy": "addresses are translated on the way, and each frame is told as its receiver saw it",
    "throttling/publish-buffer-full": UNREAD,
    "throttling/too-many-pending-publishes": UNREAD,
}
"""Cases about what only a link inside the broker can see."""
CASES = [
    case
    for case in load_packs().cases
    if case.id not in ELSEWHERE and not any(type(fault.action) in MEANS for fault in case.faults)
]


@pytest.mark.few(100)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_honest_client_passes_behind_the_proxy_too(case: Case, proxied: Any) -> None:
    # That it passes without is the exam's to show (tests/exam/test_both_ways.py).
    site = proxied()
    tried = ReferenceTrial(site=site).in_virtual_time(case)
    verdicts = {judgement.requirement: judgement.verdict for judgement in tried.judgements}
    assert {id: verdicts.get(id) for id in case.requirements} == dict.fromkeys(case.requirements, Verdict.PASS)
    assert set(verdicts.values()) == {Verdict.PASS}
    assert site.worlds[-1].proxy.troubles == []
