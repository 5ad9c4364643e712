"""What a ledger came to, as the report of any run: verdicts, terminal, JUnit, page.

The whole ledger takes the place of a Case. What was never put to the test has not passed, so it leaves no verdict.
"""

from __future__ import annotations

import errno
import os
import platform
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay_conformance.catalogue import Catalogue
from assay_conformance.ledger.collection import Small, Sums
from assay_conformance.ledger.info import Gate, LedgerInfo
from assay_conformance.ledger.info import Standing as GateStanding
from assay_conformance.model.case import Case
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.run import LeftOut, LoadSource, Machine, RunInfo
from assay_conformance.model.schema import CURRENT, FileKind
from assay_conformance.model.verdict import Judgement, RequirementVerdict, Verdict
from assay_reports import junit, page, within
from assay_reports import verdicts as verdicts_file
from assay_reports.expectation_matching import Matching, match_expectations
from assay_reports.files import writing
from assay_reports.outcome import Cause, Outcome, Reason, exit_code, outcome
from assay_reports.plots import plots
from assay_reports.report import Report

VERDICTS, JUNIT, PAGE = "verdicts.json", "junit.xml", "report.html"


@dataclass(frozen=True, slots=True)
class Judged:
    """A ledger and what was found in it."""

    info: LedgerInfo
    small: Small
    sums: Sums
    verdicts: tuple[RequirementVerdict, ...]
    bad: tuple[str, ...] = ()


def report(judged: Judged, catalogue: Catalogue, where: str, folder: Path) -> Report:
    """Return the report of a ledger at `where`, whose files go to `folder`."""
    run = _run(judged.info, catalogue)
    standing = _standing(judged, run)
    document = verdicts_file.verdicts(
        run, standing, _outcome(standing, judged.bad, judged.info.gates), catalogue=catalogue.revision, tested=True
    )
    return Report(
        run=run,
        catalogue=catalogue,
        verdicts=document,
        cases={run.run: Case(id=run.run, title="the whole ledger", requirements=(), steps=())},
        folder=str(folder),
        events=lambda _case, _attempt: (),
        replays={},
        again=f"assay reconcile {where}",
        plots=plots(judged.sums, judged.small),
        versions=judged.info.versions,
    )


def see_folder(folder: Path) -> None:
    """Raise, before anything is judged, as `write` would if the results could not be written there."""
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def write(report: Report, folder: Path) -> None:
    """Write verdicts.json, junit.xml and report.html. Raises as `files.writing` when they cannot be written."""
    with _writing(folder):
        within.replace(folder, VERDICTS, verdicts_file.render(report.verdicts))
        within.replace(folder, JUNIT, junit.junit(report))
        within.replace(folder, PAGE, page.page(report).encode())


def _writing(folder: Path) -> AbstractContextManager[None]:
    return writing(folder, "a folder for verdicts and page; name another with --report")


def _run(info: LedgerInfo, catalogue: Catalogue) -> RunInfo:
    return RunInfo(
        schema=str(CURRENT[FileKind.RUN]),
        file=FileKind.RUN,
        run=info.run,
        suite=info.suite,
        catalogue=catalogue.revision,
        hypothesis="",
        facts=ClientFacts(
            agent=f"{info.origin.value} ledger",
            client=info.client,
            client_version=info.client_version,
            capabilities=frozenset(),
        ),
        announced=info.client_version,
        broker=info.broker,
        machine=Machine(python=platform.python_version(), cpus=os.cpu_count() or 1, platform=platform.platform()),
        load_source=LoadSource.SENTINEL,
        seed=info.seed,
        started_unix_ms=info.started_unix_ms,
        ended_unix_ms=info.ended_unix_ms,
        left_out=tuple(
            LeftOut(case=gate.name, reason=f"not judged: {gate.text}")
            for gate in info.gates
            if gate.standing is GateStanding.NOT_JUDGED
        ),
    )


def _standing(judged: Judged, run: RunInfo) -> Matching:
    judgements = [
        Judgement(
            requirement=row.requirement,
            case=run.run,
            verdict=row.verdict,
            exercised=row.exercised,
            reason=row.reason,
            findings=row.findings,
        )
        for row in judged.verdicts
    ]
    day = datetime.fromtimestamp(run.started_unix_ms / 1000, UTC).date()
    return match_expectations(judged.verdicts, judgements, (), day, {run.run})


_OF_GATE = {GateStanding.BROKEN: Cause.UNEXPECTED_FAILURE, GateStanding.INVALID: Cause.INVALID}


def _outcome(standing: Matching, bad: tuple[str, ...], gates: tuple[Gate, ...]) -> Outcome:
    untested = [cell for cell in standing.cells if cell.verdict is Verdict.UNTESTABLE]
    others = tuple(cell for cell in standing.cells if cell.verdict is not Verdict.UNTESTABLE)
    result = outcome(msgspec.structs.replace(standing, cells=others), selected=1)
    reasons = (
        *(Reason(Cause.INCONCLUSIVE, sentence) for sentence in bad),
        *(Reason(_OF_GATE[gate.standing], f"{gate.name}: {gate.text}") for gate in gates if gate.standing in _OF_GATE),
        *result.reasons,
        *(Reason(Cause.NOTHING_EXERCISED, f"{cell.requirement}: {cell.reason}") for cell in untested),
    )
    return Outcome(exit_code=exit_code(reason.cause for reason in reasons), reasons=reasons)
