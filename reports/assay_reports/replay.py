"""Replay files: one Case that broke something, small enough to read, and what it is expected to break again.

A replay file is data: it names an agent and a version, never a program, a path or an address. `assay replay FILE` runs
the Case again and says STILL FAILS, FIXED or ERROR.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from assay_conformance.cases.well_formed import check_case
from assay_conformance.model.case import Case
from assay_conformance.model.errors import UsageError
from assay_conformance.model.requirement import Requirement, RequirementId
from assay_conformance.model.run import RunInfo
from assay_conformance.model.schema import CURRENT, FileKind, Header, read_document, write_document
from assay_conformance.model.verdict import Finding, Judgement, Verdict


class Breach(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the Case showed: the requirement, its clause as it read then, the finding code and its sentence."""

    requirement: RequirementId
    clause: str
    code: str
    sentence: str


class Replay(Header, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`version` is what the client reported itself; `broker` is kind, name and version."""

    suite: str
    catalogue: str
    agent: str
    client: str
    version: str
    broker: str
    case: Case
    breaches: tuple[Breach, ...]


class Answer(StrEnum):
    STILL_FAILS = "STILL FAILS"
    FIXED = "FIXED"
    PASSES = "PASSES"
    ERROR = "ERROR"


class ReplayResult(msgspec.Struct, frozen=True):
    """What a replay came to and the sentence that says why."""

    answer: Answer
    sentence: str


def replay_of(run: RunInfo, case: Case, findings: Iterable[Finding], requirements: Mapping[str, Requirement]) -> Replay:
    """Return the replay file of a Case with `findings`; each (requirement, code) is listed once, by its first finding.
    What the Case is about stands first."""
    first: dict[tuple[str, str], Finding] = {}
    for finding in sorted(findings, key=lambda finding: finding.requirement not in case.requirements):
        first.setdefault((finding.requirement, finding.code), finding)
    return Replay(
        schema=str(CURRENT[FileKind.REPLAY]),
        file=FileKind.REPLAY,
        suite=run.suite,
        catalogue=run.catalogue,
        agent=run.facts.agent,
        client=run.facts.client,
        version=run.announced,
        broker=f"{run.broker.kind} {run.broker.name} {run.broker.version}",
        case=case,
        breaches=tuple(
            Breach(
                requirement=finding.requirement,
                clause=requirements[finding.requirement].clause,
                code=finding.code,
                sentence=finding.sentence,
            )
            for finding in first.values()
        ),
    )


def render(replay: Replay) -> bytes:
    return write_document(replay)


def read_replay(data: bytes, where: str) -> Replay:
    """Return the content of a replay file; UsageError that names `where`, the key and what was expected."""
    replay = read_document(data, FileKind.REPLAY, Replay, where)
    check_case(replay.case, where)
    if not replay.breaches:
        raise UsageError(f"{where}: 'breaches' is empty, expected what the Case showed")
    return replay


def compare(replay: Replay, judgements: Iterable[Judgement]) -> ReplayResult:
    """Return what running the Case again came to.

    STILL FAILS when any listed breach shows again; of several the sentence says how many do, and which requirements are
    kept now. FIXED only when every listed requirement was judged and kept: one that could not be judged, or broke in
    another way, leaves the question open, and open is ERROR. A Case in which nothing broke, as in most that an
    exploration draws, PASSES when nothing does now, and else it is ERROR.
    """
    current = [judgement for judgement in judgements if not judgement.superseded]
    found = {(finding.requirement, finding.code): finding for j in current for finding in j.findings}
    if not replay.breaches:
        return _of_none(found.values())
    left_open = {breach.requirement: _left_open(breach.requirement, current) for breach in replay.breaches}
    if again := [breach for breach in replay.breaches if (breach.requirement, breach.code) in found]:
        requirement, code = again[0].requirement, again[0].code
        sentence = f"{requirement}: {code}: {found[requirement, code].sentence}"
        if len(replay.breaches) > 1:
            kept = ", ".join(one for one, reason in left_open.items() if not reason)
            fixed = f"; fixed: {kept}" if kept else ""
            sentence = f"{sentence} ({len(again)} of {len(replay.breaches)} recorded breaches show again{fixed})"
        return ReplayResult(Answer.STILL_FAILS, sentence)
    if reason := next(filter(None, left_open.values()), ""):
        return ReplayResult(Answer.ERROR, reason)
    return ReplayResult(Answer.FIXED, "every listed requirement was exercised and kept")


def _left_open(requirement: RequirementId, judgements: Iterable[Judgement]) -> str:
    """Why nothing says that it holds; "" where it was exercised and kept."""
    group = [judgement for judgement in judgements if judgement.requirement == requirement]
    if not group:
        return f"{requirement} was not judged: its precondition did not occur"
    other = (judgement for judgement in group if judgement.verdict is not Verdict.PASS)
    return next((f"{requirement} came to {one.verdict.value}: {one.reason}" for one in other), "")


def _of_none(found: Iterable[Finding]) -> ReplayResult:
    for finding in found:
        sentence = f"nothing was recorded to break, and now {finding.requirement}: {finding.code}: {finding.sentence}"
        return ReplayResult(Answer.ERROR, sentence)
    return ReplayResult(Answer.PASSES, "nothing was recorded to break, and nothing does")
