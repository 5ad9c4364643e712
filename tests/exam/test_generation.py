"""Generated Cases find a fault nobody wrote a Case for, reduce it to its core, and find nothing in an honest client.

Lists and machines alike: both are drawn from what an area has, and written by one model.
"""

from __future__ import annotations

import asyncio
from functools import cache

import msgspec
import pytest
from tests.exam.failures import Failure, failures_of

from assay_conformance.machines import areas, plan
from assay_conformance.machines.areas import Area
from assay_conformance.model.case import Case
from assay_conformance.model.event import Fired
from assay_conformance.model.fault import Cut, OnFrame
from assay_conformance.model.verdict import Verdict
from assay_fixtures.reference.probe import ReferenceTrial, Tried

SEED = 24
PLANTED_SEED = 26
"""Of which the first life that shows the planted fault does so by one lost connection."""
LIVES, MACHINE_LIVES = 150, 12
LOST = "resend.pending-sends-resent"


@cache
def _of_machines(area: Area) -> list[Case]:
    return plan.draw_lives(area, MACHINE_LIVES, SEED)


@cache
def _found() -> Failure:
    """The first life of the one area that is about it in which it is found."""
    planted = ReferenceTrial(mutants=frozenset({"loses-third-send"}))
    drawn = plan.draw(areas.lives(Area.RESEND), LIVES, PLANTED_SEED)
    case = next(case for case in drawn if LOST in dict(planted.in_virtual_time(case).probed.breaches))
    (failure,) = asyncio.run(failures_of([case], planted.probe, parallel=8))
    return failure


def _sends(case: Case) -> int:
    return sum(int(step.args.get("count", 1)) for step in case.steps if step.verb == "send")


def test_the_planted_fault_is_found_and_reduced_to_three_sends_and_one_lost_connection() -> None:
    reduced = _found().reduced
    assert _sends(reduced) == 3
    assert [type(fault.action) for fault in reduced.faults] == [Cut]
    assert isinstance(reduced.faults[0].trigger, OnFrame)


def test_nothing_can_be_taken_from_what_is_left() -> None:
    failure = _found()
    planted = ReferenceTrial(mutants=frozenset({"loses-third-send"}))
    for index in range(len(failure.reduced.steps)):
        steps = failure.reduced.steps[:index] + failure.reduced.steps[index + 1 :]
        smaller = msgspec.structs.replace(failure.reduced, steps=steps)
        assert not failure.breaches <= planted.in_virtual_time(smaller).probed.breaches, f"without step {index}"
    bare = msgspec.structs.replace(failure.reduced, faults=())
    assert not failure.breaches <= planted.in_virtual_time(bare).probed.breaches


def test_the_reduced_case_passes_with_the_honest_client() -> None:
    assert ReferenceTrial().in_virtual_time(_found().reduced).probed.breaches == frozenset()


# --- machines ---------------------------------------------------------------------------------------------------------


@cache
def _lived(area: Area) -> tuple[Tried, ...]:
    return tuple(ReferenceTrial().in_virtual_time(case) for case in _of_machines(area))


@pytest.mark.parametrize("area", Area)
def test_an_honest_client_lives_through_what_the_machines_of_an_area_write(area: Area) -> None:
    said = {one.case.id: [found.sentence for told in one.judgements for found in told.findings] for one in _lived(area)}
    assert len(said) * 2 >= MACHINE_LIVES
    assert {case: sentences for case, sentences in said.items() if sentences} == {}


def test_no_generated_case_is_a_crash_of_ours() -> None:
    lived = [one for area in Area for one in _lived(area)]
    assert {told.reason for one in lived for told in one.judgements if told.verdict is Verdict.HARNESS_ERROR} == set()


def test_most_lives_of_machines_have_a_fault_that_fired() -> None:
    lived = [one for area in Area for one in _lived(area)]
    assert sum(any(isinstance(event, Fired) for event in one.events) for one in lived) * 2 > len(lived)


def test_the_same_seed_gives_the_same_lives() -> None:
    assert msgspec.json.encode(plan.draw_lives(Area.DEDUP, 10, 3)) == msgspec.json.encode(
        plan.draw_lives(Area.DEDUP, 10, 3)
    )


def test_another_seed_gives_others() -> None:
    one, two = (plan.draw_lives(Area.DEDUP, 10, seed) for seed in (1, 2))
    assert msgspec.json.encode(one) != msgspec.json.encode(two)
