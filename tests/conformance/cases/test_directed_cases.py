"""What holds for every directed Case, and that catalogue, checks and Cases belong together."""

from __future__ import annotations

import msgspec
import pytest

from assay_conformance.catalogue import load
from assay_conformance.model.case import Case, Isolation, Tier
from assay_conformance.model.fault import AfterStep
from assay_conformance.model.outside import Role, Target
from assay_conformance.model.requirement import Disposition
from assay_conformance.pulsar.cases import all_cases
from assay_conformance.pulsar.registry import CHECKS

CASES = all_cases()
_EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


def test_case_ids_are_unique() -> None:
    assert len({case.id for case in CASES}) == len(CASES)


@_EACH
def test_case_survives_json(case: Case) -> None:
    assert msgspec.json.decode(msgspec.json.encode(case), type=Case) == case


LEAST_OPERATION_MS = 5_000
"""Clients close in two seconds, and look at a time-out once in as long as it is: no operation has less time."""


@_EACH
def test_case_leaves_an_operation_its_time(case: Case) -> None:
    assert case.limits.operation_ms >= LEAST_OPERATION_MS


@_EACH
def test_case_does_not_count_connections(case: Case) -> None:
    """Clients share connections, or do not: what a fault is about is a producer, a consumer or a broker."""
    assert [fault for fault in case.faults if fault.scope.connection is not None] == []


@_EACH
def test_case_names_requirements_of_the_catalogue(case: Case) -> None:
    assert case.requirements
    assert set(case.requirements) <= set(load().requirements)


@_EACH
def test_case_asks_for_capabilities_of_the_catalogue(case: Case) -> None:
    assert set(case.capabilities) <= set(load().capabilities)


@_EACH
def test_case_refers_to_handles_that_an_earlier_step_opened(case: Case) -> None:
    saved: set[int] = set()
    for step in case.steps:
        named = {step.args[name] for name in ("client", "producer", "consumer", "handle") if name in step.args}
        assert named | set(step.args.get("ops", ())) <= saved
        if step.saves is not None:
            saved.add(step.saves)


@_EACH
def test_fault_refers_to_steps_that_exist(case: Case) -> None:
    for fault in case.faults:
        steps = [fault.until.step, fault.trigger.step if isinstance(fault.trigger, AfterStep) else None]
        assert all(step is None or step < len(case.steps) for step in steps)


@_EACH
def test_case_that_harms_the_client_has_its_process_to_itself(case: Case) -> None:
    targets = [getattr(fault.action, "target", Target()) for fault in case.faults]
    shared = case.isolation is Isolation.SHARED_PROCESS
    assert not (shared and any(target.role is Role.CLIENT for target in targets))


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
