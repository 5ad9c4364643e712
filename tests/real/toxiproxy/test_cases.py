"""Every Case with toxics, with an honest client: it passes, and each toxic was seen to act."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from assay_conformance.model.case import Case, Tier
from assay_conformance.model.errors import UnavailableError
from assay_conformance.model.event import Fired
from assay_conformance.model.needs import means
from assay_conformance.model.outside import Means
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import Verdict
from assay_conformance.pulsar.cases import all_cases
from assay_faults.cleanup_journal import CleanupJournal
from assay_faults.injector import MakeInjector
from assay_faults.toxiproxy.api import Api
from assay_faults.toxiproxy.injector import ToxiproxyInjector
from assay_faults.toxiproxy.server import FindServer, OwnServer
from assay_fixtures.reference.probe import ReferenceTrial, Tried

FAST = [case for case in all_cases() if Means.TOXIPROXY in means(case) and case.tier is Tier.FAST]


CAUGHT = {
    "fails-pending-on-loss": ("resend/connection-reset", "resend.pending-sends-resent"),
    "loses-split-frame-length": ("robustness/small-segments", "robustness.any-segmentation"),
    "publishes-again-after-resend": ("dedup/effectively-once-through-resets", "dedup.effectively-once"),
}
"""A rule broken -> the Case that shows it, and the requirement."""


def tried(case: Case, find: FindServer, ledger: CleanupJournal, *mutations: str) -> Tried:
    make: MakeInjector = lambda _situation: ToxiproxyInjector(find, ledger)  # noqa: E731
    trial = ReferenceTrial(mutants=frozenset(mutations), injectors={Means.TOXIPROXY: make})
    return asyncio.run(trial.over_sockets(case))


@pytest.mark.parametrize("case", FAST, ids=lambda case: case.id)
def test_an_honest_client_passes(case: Case, api: Api, ledger: CleanupJournal) -> None:
    async def find() -> Api:
        return api

    told = tried(case, find, ledger)
    assert {j.requirement: j.verdict for j in told.judgements if j.verdict is not Verdict.PASS} == {}
    assert {event.fault for event in told.events if isinstance(event, Fired)} == set(range(len(case.faults)))


@pytest.mark.long  # one of them stops listening, and its Case lasts to its deadline
@pytest.mark.parametrize("mutation", CAUGHT)
def test_a_client_that_breaks_a_rule_is_caught(mutation: str, api: Api, ledger: CleanupJournal) -> None:
    async def find() -> Api:
        return api

    case_id, requirement = CAUGHT[mutation]
    told = tried(next(case for case in FAST if case.id == case_id), find, ledger, mutation)
    assert {j.requirement: j.verdict for j in told.judgements}[RequirementId(requirement)] is Verdict.FAIL


def test_without_a_server_a_case_is_unavailable(ledger: CleanupJournal, tmp_path: Path) -> None:
    def nowhere() -> list[str]:
        raise UnavailableError("there is no toxiproxy server here: expected `assay tools install toxiproxy`")

    told = tried(FAST[0], OwnServer(nowhere, ledger, tmp_path / "log"), ledger)
    assert {judgement.verdict for judgement in told.judgements} == {Verdict.UNAVAILABLE}
