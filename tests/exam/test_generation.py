"""Generated Cases find a fault nobody wrote a Case for, reduce it to its core, and find nothing in an honest client."""

from __future__ import annotations

import asyncio
from functools import cache

import msgspec
import pytest
from tests.exam.failures import Failure, failures_of

from assay_conformance.client import Mutation
from assay_conformance.machines import plan, strategies
from assay_conformance.machines.life import FIRST_PRODUCER
from assay_conformance.model.case import Case
from assay_conformance.model.event import Fired
from assay_conformance.model.fault import Cut, OnFrame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import Verdict
from assay_fixtures.reference.probe import ReferenceTrial, Tried

REQUIREMENTS = (RequirementId("resend.unreceipted-again"),)
SEED = 20
LIVES, MACHINE_LIVES = 300, 100


@cache
def _drawn() -> tuple[Case, ...]:
    drawn = plan.draw(strategies.producer_lives(REQUIREMENTS), LIVES, SEED)
    return (*drawn, *plan.draw_lives(REQUIREMENTS, MACHINE_LIVES, SEED))


@cache
def _found() -> list[Failure]:
    planted = ReferenceTrial(client=frozenset({Mutation.LOSES_THIRD_SEND}))
    return asyncio.run(failures_of(_drawn(), planted.probe, parallel=8))


def _sends(case: Case) -> int:
    return sum(int(step.args.get("count", 1)) for step in case.steps if step.verb == "send")


def test_the_planted_fault_is_found() -> None:
    assert [failure.confirmed for failure in _found()] != []


def test_it_is_reduced_to_three_sends_and_one_cut() -> None:
    reduced = _found()[0].reduced
    assert _sends(reduced) == 3
    assert [type(fault.action) for fault in reduced.faults] == [Cut]


def test_nothing_can_be_taken_from_what_is_left() -> None:
    failure = _found()[0]
    planted = ReferenceTrial(client=frozenset({Mutation.LOSES_THIRD_SEND}))
    for index in range(len(failure.reduced.steps)):
        steps = failure.reduced.steps[:index] + failure.reduced.steps[index + 1 :]
        smaller = msgspec.structs.replace(failure.reduced, steps=steps)
        assert planted.in_virtual_time(smaller).probed.breaches.isdisjoint(failure.breaches), f"without step {index}"
    bare = msgspec.structs.replace(failure.reduced, faults=())
    assert planted.in_virtual_time(bare).probed.breaches.isdisjoint(failure.breaches)


def test_the_reduced_case_passes_with_the_honest_client() -> None:
    assert ReferenceTrial().in_virtual_time(_found()[0].reduced).probed.breaches == frozenset()


@cache
def _honest() -> tuple[Tried, ...]:
    return tuple(ReferenceTrial().in_virtual_time(case) for case in _drawn())


def test_an_honest_client_has_no_finding_in_any_of_them() -> None:
    told = {t.case.id: [f.sentence for j in t.judgements for f in j.findings] for t in _honest()}
    assert len(told) >= 100
    assert {case: sentences for case, sentences in told.items() if sentences} == {}


def test_no_generated_case_is_a_crash_of_ours() -> None:
    crashes = {j.reason for t in _honest() for j in t.judgements if j.verdict is Verdict.HARNESS_ERROR}
    assert crashes == set()


def test_most_generated_cases_have_a_fault_that_fired() -> None:
    fired = [t for t in _honest() if any(isinstance(event, Fired) for event in t.events)]
    assert len(fired) * 2 > len(_honest())


@pytest.mark.parametrize("draw", [lambda: plan.draw(strategies.producer_lives(REQUIREMENTS), 50, 3)])
def test_the_same_seed_gives_the_same_plan(draw: object) -> None:
    assert callable(draw)
    assert msgspec.json.encode(draw()) == msgspec.json.encode(draw())


def test_another_seed_gives_another_plan() -> None:
    one, two = (plan.draw(strategies.producer_lives(REQUIREMENTS), 50, seed) for seed in (1, 2))
    assert msgspec.json.encode(one) != msgspec.json.encode(two)


def test_every_life_opens_its_producer_first() -> None:
    assert all(case.steps[1].saves == FIRST_PRODUCER for case in _drawn())


def test_the_cut_aims_at_a_frame() -> None:
    assert isinstance(_found()[0].reduced.faults[0].trigger, OnFrame)
