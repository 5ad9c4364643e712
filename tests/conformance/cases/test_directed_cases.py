"""What holds for every directed Case, and that catalogue, checks and Cases belong together."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from assay_conformance.catalogue import load
from assay_conformance.model.case import Case, Isolation, Tier
from assay_conformance.model.fault import AfterStep, Fault
from assay_conformance.model.outside import Role, Target
from assay_conformance.model.requirement import Disposition
from assay_conformance.pulsar.cases import all_cases
from assay_conformance.pulsar.registry import CHECKS

CASES = all_cases()


def test_case_ids_are_unique() -> None:
    assert len({case.id for case in CASES}) == len(CASES)


def _but(holds: Callable[[Case], object]) -> list[str]:
    """The Cases of which it does not hold."""
    return [case.id for case in CASES if not holds(case)]


def test_cases_survive_json() -> None:
    assert _but(lambda case: msgspec.json.decode(msgspec.json.encode(case), type=Case) == case) == []


LEAST_OPERATION_MS = 5_000
"""Clients close in two seconds, and look at a time-out once in as long as it is: no operation has less time."""


def test_cases_leave_an_operation_its_time() -> None:
    assert _but(lambda case: case.limits.operation_ms >= LEAST_OPERATION_MS) == []


def test_cases_do_not_count_connections() -> None:
    """Clients share connections, or do not: what a fault is about is a producer, a consumer or a broker."""
    assert _but(lambda case: all(fault.scope.connection is None for fault in case.faults)) == []


def test_cases_name_requirements_of_the_catalogue() -> None:
    known = set(load().requirements)
    assert _but(lambda case: case.requirements and set(case.requirements) <= known) == []


def test_cases_ask_for_capabilities_of_the_catalogue() -> None:
    known = set(load().capabilities)
    assert _but(lambda case: set(case.capabilities) <= known) == []


def _refers_to_what_is_open(case: Case) -> bool:
    saved: set[int] = set()
    for step in case.steps:
        named = {step.args[name] for name in ("client", "producer", "consumer", "handle") if name in step.args}
        if not named | set(step.args.get("ops", ())) <= saved:
            return False
        if step.saves is not None:
            saved.add(step.saves)
    return True


def test_cases_refer_to_handles_that_an_earlier_step_opened() -> None:
    assert _but(_refers_to_what_is_open) == []


def _steps_named(fault: Fault) -> list[int]:
    steps = [fault.until.step, fault.trigger.step if isinstance(fault.trigger, AfterStep) else None]
    return [step for step in steps if step is not None]


def test_faults_refer_to_steps_that_exist() -> None:
    assert _but(lambda case: all(step < len(case.steps) for one in case.faults for step in _steps_named(one))) == []


def _harms_its_client(case: Case) -> bool:
    return any(getattr(fault.action, "target", Target()).role is Role.CLIENT for fault in case.faults)


def test_cases_that_harm_the_client_have_its_process_to_themselves() -> None:
    assert _but(lambda case: case.isolation is not Isolation.SHARED_PROCESS or not _harms_its_client(case)) == []


STATED = load().requirements.values()
NOT_TESTABLE = {stated.id for stated in STATED if stated.disposition is Disposition.NOT_TESTABLE}
MOST_NOT_TESTABLE = 10


def test_every_requirement_that_can_be_tested_has_a_check_and_every_check_a_requirement() -> None:
    assert set(CHECKS) == set(load().requirements) - NOT_TESTABLE


def test_every_requirement_that_can_be_tested_is_exercised_by_a_case() -> None:
    exercised = {requirement for case in CASES for requirement in case.requirements}
    assert exercised == set(load().requirements) - NOT_TESTABLE


def test_hardly_anything_is_not_testable() -> None:
    assert len(NOT_TESTABLE) <= MOST_NOT_TESTABLE


def test_fast_tier_waits_for_no_more_than_five_seconds_in_a_case() -> None:
    assert all(case.limits.least_wall_ms <= 5_000 for case in CASES if case.tier is Tier.FAST)
