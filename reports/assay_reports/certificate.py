"""certificate.json: what a client may say of itself after a run, and what it rests on.

Like verdicts.json it is a function of run folder and catalogue: judging a stored run again gives the same bytes.
Broker-side rows stand apart and decide nothing. A claim needs every MUST of its profile judged, kept, and seen by more
than the client's own word (evidence grade A or B); where a profile has no MUST, the same of every SHOULD.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any

import msgspec

from assay_conformance.catalogue import Catalogue
from assay_conformance.checks.base import grade_of
from assay_conformance.model.event import Witness
from assay_conformance.model.json_schema import DIALECT, with_plain_descriptions
from assay_conformance.model.requirement import Level, Profile, Requirement, Side
from assay_conformance.model.run import LeftOut, RunInfo
from assay_conformance.model.schema import CURRENT, FileKind, Header, read_document, write_document
from assay_conformance.model.verdict import Expected, Grade, RequirementVerdict, Verdict, broken
from assay_reports.expectation_matching import Cell
from assay_reports.verdicts import Subject, Verdicts

Witnessed = Callable[[str, int], Set[Witness]]
"""(Case id, attempt) -> the witnesses that spoke in its history."""

KEPT = frozenset({Verdict.PASS, Verdict.INFO})
"""Verdicts under which a duty was kept; the last cannot be a duty's, but a requirement's level may change."""

WEAKEST_LAST = (Grade.A, Grade.B, Grade.C)


class Row(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One requirement. `grade` is the evidence of its verdict: of its findings, else of where it was seen kept."""

    requirement: str
    level: Level
    side: Side
    verdict: Verdict
    exercised: int
    grade: Grade | None = None
    codes: tuple[str, ...] = ()
    expected: Expected = Expected.NOT_LISTED


class Claim(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A profile, and whether it is claimed; `because` are the reasons why not."""

    profile: str
    title: str
    claimed: bool
    requirements: int
    because: tuple[str, ...] = ()


class Certificate(Header, frozen=True, kw_only=True):
    """The whole file. `build` is the client's digest, `run_digest` that of run.json, plan, histories and expectations,
    `rules` that of the code that judged: the same rules make the same certificate of the same run.

    `complete` is false for a run that ended early: it claims nothing. `withheld`: so many listed deviations with
    consequences for security are behind verdicts, and nothing else is said of them here.
    """

    run: str
    run_digest: str
    suite: str
    catalogue: str
    subject: Subject
    build: str
    broker: str
    complete: bool
    profiles: tuple[Claim, ...]
    requirements: tuple[Row, ...]
    broker_side: tuple[Row, ...]
    left_out: tuple[LeftOut, ...]
    rules: str = ""
    withheld: int = 0


def certificate(
    run: RunInfo,
    document: Verdicts,
    catalogue: Catalogue,
    witnessed: Witnessed,
    *,
    run_digest: str,
    complete: bool,
    rules: str = "",
    withheld: int = 0,
) -> Certificate:
    """Return the certificate of a judged run, of which `document` is what may be published."""
    stated = catalogue.requirements
    cells: dict[str, list[Cell]] = {}
    for cell in document.cells:
        cells.setdefault(cell.requirement, []).append(cell)
    rows = {
        str(verdict.requirement): _row(
            verdict, stated[verdict.requirement], cells.get(verdict.requirement, ()), witnessed
        )
        for verdict in document.requirements
    }
    return Certificate(
        schema=str(CURRENT[FileKind.CERTIFICATE]),
        file=FileKind.CERTIFICATE,
        run=run.run,
        run_digest=run_digest,
        suite=document.suite,
        catalogue=document.catalogue,
        subject=document.subject,
        build=run.build,
        broker=document.broker,
        complete=complete,
        profiles=tuple(_claim(profile, catalogue, run, rows, complete) for profile in catalogue.profiles.values()),
        requirements=tuple(row for row in rows.values() if row.side is not Side.BROKER),
        broker_side=tuple(row for row in rows.values() if row.side is Side.BROKER),
        left_out=document.left_out,
        rules=rules,
        withheld=withheld,
    )


def render(document: Certificate) -> bytes:
    return write_document(document)


def read_certificate(data: bytes, where: str) -> Certificate:
    """Return the content of a certificate.json; UsageError that names `where` when it is none."""
    return read_document(data, FileKind.CERTIFICATE, Certificate, where)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of certificate.json."""
    return {"$schema": DIALECT, **with_plain_descriptions(msgspec.json.schema(Certificate))}


# --- rows -------------------------------------------------------------------------------------------------------------


def _row(verdict: RequirementVerdict, stated: Requirement, cells: Iterable[Cell], witnessed: Witnessed) -> Row:
    return Row(
        requirement=verdict.requirement,
        level=stated.level,
        side=stated.side,
        verdict=verdict.verdict,
        exercised=verdict.exercised,
        grade=_grade(verdict, cells, witnessed),
        codes=tuple(sorted({finding.code for finding in verdict.findings})),
        expected=verdict.expected,
    )


def _grade(verdict: RequirementVerdict, cells: Iterable[Cell], witnessed: Witnessed) -> Grade | None:
    """Return the grade: of a breach that of its best proof, of what was kept that of its weakest witness."""
    if verdict.findings:
        return min((finding.grade for finding in verdict.findings), key=WEAKEST_LAST.index)
    seen = [
        grade_of(frozenset().union(*(witnessed(cell.case, attempt) for attempt in cell.attempts)))
        for cell in cells
        if cell.exercised
    ]
    return max(seen, key=WEAKEST_LAST.index, default=None)


# --- claims -----------------------------------------------------------------------------------------------------------


def _claim(profile: Profile, catalogue: Catalogue, run: RunInfo, rows: Mapping[str, Row], complete: bool) -> Claim:
    members = catalogue.members(profile)
    because = tuple(_against(profile, members, run, rows, complete))
    return Claim(
        profile=profile.name,
        title=profile.title,
        claimed=not because,
        requirements=len(members),
        because=because,
    )


def _against(
    profile: Profile, members: Iterable[Requirement], run: RunInfo, rows: Mapping[str, Row], complete: bool
) -> Iterator[str]:
    """Why the profile is not claimed; what the client never said it could do is reason enough by itself."""
    if missing := [one for one in profile.capabilities if one not in run.facts.capabilities]:
        yield f"not declared: {', '.join(missing)}"
        return
    if not complete:
        yield "the run ended early"
    duties = _duties(members)
    # What needs more than the profile demands is asked of those who have it.
    asked = [duty for duty in duties if not run.facts.missing_for(duty)]
    if not asked:
        more = {one for duty in duties for one in run.facts.missing_for(duty)}
        yield f"asked only of clients that declare more: {', '.join(sorted(more))}" if more else "it asks nothing"
    for duty in asked:
        if reason := _unkept(rows.get(duty.id)):
            yield f"{duty.id}: {reason}"


def _duties(members: Iterable[Requirement]) -> list[Requirement]:
    """Return what a claim rests on: every MUST, and of a profile that has none every SHOULD."""
    found: dict[Verdict, list[Requirement]] = {}
    for member in members:
        found.setdefault(broken(member), []).append(member)
    return found.get(Verdict.FAIL) or found.get(Verdict.WARN, [])


def _unkept(row: Row | None) -> str:
    if row is None:
        return "not judged in this run"
    if row.verdict not in KEPT:
        return f"{row.verdict.value} ({', '.join(row.codes)})" if row.codes else row.verdict.value
    return "the client's word alone (evidence C)" if row.grade in (Grade.C, None) else ""
