"""Every Case with packet faults, with an honest client: it passes, and each fault was seen to act."""

from __future__ import annotations

import asyncio

import pytest

from assay_conformance.model.case import Case
from assay_conformance.model.event import Fired
from assay_conformance.model.needs import means
from assay_conformance.model.outside import Means
from assay_conformance.model.verdict import Verdict
from assay_conformance.pulsar.cases import all_cases
from assay_faults.namespaces.injector import NamespaceInjector
from assay_fixtures.reference.probe import ReferenceTrial

CASES = [case for case in all_cases() if Means.NAMESPACES in means(case)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_honest_client_passes(case: Case) -> None:
    trial = ReferenceTrial(injectors={Means.NAMESPACES: lambda _situation: NamespaceInjector()})
    told = asyncio.run(trial.over_sockets(case))
    assert {j.requirement: j.verdict for j in told.judgements if j.verdict is not Verdict.PASS} == {}
    assert {event.fault for event in told.events if isinstance(event, Fired)} == set(range(len(case.faults)))
