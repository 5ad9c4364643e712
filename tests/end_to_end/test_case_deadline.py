"""A Case that runs out of time: nobody is blamed for what was under way then."""

from __future__ import annotations

from pathlib import Path

from tests.end_to_end.running import agent_toml, run_cases

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.event import Overdue
from assay_conformance.model.verdict import Verdict

CASE_MS = 300


def too_long() -> Case:
    """A receive that has not ended, and not been waited for, when the Case's own time is over."""
    plan = Schedule()
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 1, timeout_ms=10 * CASE_MS)
    plan.wait_ms(10 * CASE_MS)
    return plan.case(
        "end-to-end/too-long",
        "A receive in a Case that ends before it",
        ("robustness.calls-do-not-hang",),
        limits=Limits(operation_ms=5_000, case_ms=CASE_MS, quiet_ms=20),
    )


def test_an_operation_whose_own_time_was_not_over_is_not_overdue(tmp_path: Path) -> None:
    case = too_long()
    ran = run_cases(agent_toml(tmp_path, "{python}", "-m", "assay_fixtures.reference"), [case], tmp_path / "run")
    assert ran.last(case).verdict is Verdict.INCONCLUSIVE
    assert not [event for event in ran.stored.history(case.id, 1) if isinstance(event, Overdue)]
