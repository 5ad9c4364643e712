"""What a run was held to besides its rows stands in its report, and in the exit code of whoever judges it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.spark.histories import info

from assay_conformance.ledger.collection import Small, Sums
from assay_conformance.ledger.info import Gate, Standing
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import RequirementVerdict, Verdict
from assay_fixtures.packs import load_packs
from assay_reports.report import Report
from assay_reports.spark.report import Judged, report

PASSED = RequirementVerdict(
    requirement=RequirementId("delivery.payload-unchanged"), verdict=Verdict.PASS, exercised=9, cases=("ledger",)
)


def judged(*gates: Gate) -> Report:
    of = msgspec.structs.replace(info(), gates=gates)
    return report(Judged(of, Small(), Sums({}), (PASSED,)), load_packs().catalogue, "ledger", Path("ledger"))


@pytest.mark.parametrize(("standing", "code"), [(Standing.HELD, 0), (Standing.BROKEN, 1), (Standing.INVALID, 3)])
def test_a_broken_gate_is_a_reason_of_the_exit_code(standing: Standing, code: int) -> None:
    verdicts = judged(Gate("sender memory", standing, "+90 MiB")).verdicts
    assert verdicts.exit_code == code
    assert [reason.sentence for reason in verdicts.reasons] == ["sender memory: +90 MiB"] * (code > 0)


def test_a_gate_that_was_not_judged_is_named_and_not_held() -> None:
    (left,) = judged(Gate("sender memory", Standing.NOT_JUDGED, "too short")).verdicts.left_out
    assert (left.case, left.reason) == ("sender memory", "not judged: too short")
