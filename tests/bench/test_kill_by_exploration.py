"""When a mutant counts as found by exploration, and what the exploration had taken by then."""

from __future__ import annotations

import msgspec
from bench.kill_by_exploration import Explored, explored, sought
from tests.exam.test_both_ways import named

from assay_conformance.model.case import PERMUTED, Case
from assay_fixtures.packs import load_packs

MUTANT = "epoch-never-increases"
REQUIREMENT = named(MUTANT)
CASES = [case for case in load_packs().cases if REQUIREMENT in case.requirements and PERMUTED not in case.id]


def of(cpu_s: float, *kept: str, case: Case = CASES[0]) -> Explored:
    return Explored(msgspec.structs.replace(case, id=f"generated/at-{cpu_s:.0f}"), frozenset(kept), cpu_s)


def test_a_case_that_does_not_show_the_requirement_kept_is_not_run_but_its_time_counts() -> None:
    found = sought(MUTANT, [of(3), of(5, REQUIREMENT), of(9, REQUIREMENT)], cpu_s=100)
    assert (found.case, found.reached, found.explored, found.cpu_s) == ("generated/at-5", 1, 2, 5)


def test_what_would_have_come_too_late_finds_nothing() -> None:
    found = sought(MUTANT, [of(3), of(5, REQUIREMENT)], cpu_s=4)
    assert (found.case, found.reached, found.explored, found.cpu_s) == ("", 0, 1, 4)


def test_an_exploration_runs_generated_cases_alone_and_its_time_goes_on() -> None:
    told = list(explored(seed=1, cpu_s=0.5))
    assert all(one.case.id.startswith("generated/") for one in told)
    assert any(one.kept for one in told)
    assert sorted(one.cpu_s for one in told) == [one.cpu_s for one in told]
