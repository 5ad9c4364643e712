"""The rules on made-up ledgers: nothing in healthy ones, and in sick ones what the truth file says and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay_conformance.catalogue import load
from assay_conformance.ledger import clauses
from assay_conformance.ledger.collection import Rows, sums
from assay_conformance.ledger.judge import judge_rows, judged
from assay_conformance.ledger.lives import Evidence
from assay_conformance.ledger.rules import RULES
from assay_conformance.ledger.tables import NONE, PARTS
from assay_reports.ledgers.opening import open_ledger, smalls
from assay_reports.ledgers.synth.anomalies import KINDS
from assay_reports.ledgers.synth.flows import FLOWS
from assay_reports.ledgers.synth.plan import Asked, Plan, default_anomalies
from assay_reports.ledgers.synth.writing import make
from assay_reports.spark.reconcile import reconcile

Found = set[tuple[str, int, int]]
"""(requirement, stream, seq)"""


def breaches(folder: Path, plan: Plan) -> Found:
    make(plan, folder, "0", 1, lambda _done, _of: None)
    ledger = open_ledger(str(folder))
    small = smalls(ledger)
    rows = Rows(*(tuple(ledger.read(table)) for table in PARTS))
    rules = judged(Evidence(rows, small, ledger.info, sums(rows, small, ledger.info)))
    return {(rule.requirement, breach.stream, breach.seq) for rule in rules for breach in rule.breaches}


@pytest.mark.one_in(2)
def test_spark_says_of_every_anomaly_what_the_rules_say(spark: Any, tmp_path: Path) -> None:
    plan = Plan(18_000, 4, True, 18_000, dict.fromkeys(default_anomalies(True), Asked(count=1)))
    make(plan, tmp_path / "ledger", "0", 1, lambda _done, _of: None)
    ledger = open_ledger(str(tmp_path / "ledger"))
    small, rows = smalls(ledger), Rows(*(tuple(ledger.read(table)) for table in PARTS))
    found = reconcile(spark, ledger, load()).verdicts
    assert {str(row.requirement) for row in found if row.findings} == {rule.requirement for rule in RULES}
    assert found == judge_rows(rows, small, ledger.info, sums(rows, small, ledger.info), load())


def truth(plan: Plan) -> Found:
    return {
        # How the messages of a fault fared is told of the fault.
        (name, NONE, NONE) if name == clauses.WINDOWS else (name, one.stream, one.seq)
        for one in plan.truth()
        for name in one.requirements
    }


def test_every_rule_has_an_anomaly_that_breaks_it() -> None:
    breaking = {name for kind in KINDS.values() for name in kind.requirements}
    assert breaking | {kind.requirement for kind in FLOWS.values()} == {rule.requirement for rule in RULES}


@pytest.mark.parametrize("mix", [False, True], ids=["plain", "mix"])
def test_a_healthy_ledger_is_clean(tmp_path: Path, mix: bool) -> None:
    assert breaches(tmp_path / "ledger", Plan(9_000, 1, mix, 6_000)) == set()


@pytest.mark.parametrize("mix", [False, True], ids=["plain", "mix"])
def test_every_anomaly_is_found_and_nothing_else(tmp_path: Path, mix: bool) -> None:
    plan = Plan(18_000, 4, mix, 18_000, dict.fromkeys(default_anomalies(mix), Asked(count=1)))
    assert breaches(tmp_path / "ledger", plan) == truth(plan)
