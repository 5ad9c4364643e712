"""verdicts.json: what a run came to, for machines. docs/verdicts.schema.json is generated from these types.

It is a function of the run folder alone (run.json, plan, history, the copy of the expectations, the day the run
began), so judging a stored run again gives the same bytes. Keys are only ever added within a major version.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from assay_conformance.model.json_schema import DIALECT, with_plain_descriptions
from assay_conformance.model.requirement import Requirement, Side
from assay_conformance.model.run import LeftOut, RunInfo
from assay_conformance.model.schema import CURRENT, FileKind, Header, read_document, write_document
from assay_conformance.model.verdict import Expected, RequirementVerdict, Verdict
from assay_reports.expectation_matching import Cell, Entry, EntryState, Matching
from assay_reports.expectations import Known
from assay_reports.impact import Impact, severity
from assay_reports.outcome import Outcome, Reason
from assay_reports.text import counted


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """The client that was judged. `version` is what it reported itself."""

    agent: str
    client: str
    version: str
    tested: bool
    """Whether the version lies in the range of the expectations file; outside it, new failures are likelier."""


class Met(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A listed deviation that is in force for the version of the run, and in how many Cases of the run it showed.

    `security` names the contact to report it to first: such a deviation is not published. `broker`: whose it is, where
    it is not the client's.
    """

    id: str
    title: str
    impact: Impact | None = None
    effect: str = ""
    cases: int = 0
    security: str = ""
    broker: str = ""


class Verdicts(Header, frozen=True, kw_only=True):
    """The whole file. `requirements` are folded over their Cases, `cells` are one requirement in one Case each, and
    `deviations` what an application may meet, worst first."""

    run: str
    suite: str
    catalogue: str
    subject: Subject
    broker: str
    exit_code: int
    reasons: tuple[Reason, ...]
    requirements: tuple[RequirementVerdict, ...]
    cells: tuple[Cell, ...]
    expectations: tuple[Entry, ...]
    left_out: tuple[LeftOut, ...]
    deviations: tuple[Met, ...] = ()


def verdicts(
    run: RunInfo, standing: Matching, outcome: Outcome, *, catalogue: str, tested: bool, known: Sequence[Known] = ()
) -> Verdicts:
    """Return the document of a run judged by the catalogue of that revision, which may be newer than the run. `known`
    are the lists that the standing was made with."""
    return Verdicts(
        schema=str(CURRENT[FileKind.VERDICTS]),
        file=FileKind.VERDICTS,
        run=run.run,
        suite=run.suite,
        catalogue=catalogue,
        subject=Subject(agent=run.facts.agent, client=run.facts.client, version=run.announced, tested=tested),
        broker=f"{run.broker.kind} {run.broker.name} {run.broker.version}",
        exit_code=outcome.exit_code,
        reasons=outcome.reasons,
        requirements=standing.rows,
        cells=standing.cells,
        expectations=standing.entries,
        left_out=run.left_out,
        deviations=met(standing, known),
    )


_IN_FORCE = frozenset(EntryState) - {EntryState.OTHER_VERSION, EntryState.STALE}


def met(standing: Matching, known: Sequence[Known]) -> tuple[Met, ...]:
    """Return the deviations in force, worst first, of one impact those that showed in most Cases first."""
    cases = _cases_of(standing)
    found = [
        Met(
            id=deviation.id,
            title=deviation.title,
            impact=deviation.impact,
            effect=deviation.effect,
            cases=len(cases[key]),
            security=deviation.security,
            broker=one.expectations.broker,
        )
        for one in known
        for deviation in one.expectations.deviations
        if (key := (one.expectations.broker, deviation.id)) in cases
    ]
    return tuple(sorted(found, key=lambda one: (severity(one.impact), -one.cases)))


def _cases_of(standing: Matching) -> dict[tuple[str, str], set[str]]:
    """(broker, deviation) of those in force -> the Cases in which it showed."""
    entries: dict[tuple[str, str], list[Entry]] = {}
    found: dict[tuple[str, str], set[str]] = {}
    for entry in standing.entries:
        if entry.state in _IN_FORCE:
            entries.setdefault((entry.expectation.requirement, entry.expectation.code), []).append(entry)
            found.setdefault((entry.broker, entry.expectation.deviation), set())
    for cell in standing.cells:
        for finding in cell.findings:
            for entry in entries.get((finding.requirement, finding.code), ()):
                if entry.expectation.excuses(finding.case):
                    found[entry.broker, entry.expectation.deviation].add(finding.case)
    return found


def render(document: Verdicts) -> bytes:
    return write_document(document)


def read_verdicts(data: bytes, where: str) -> Verdicts:
    """Return the content of a verdicts.json; UsageError that names `where` when it is none."""
    return read_document(data, FileKind.VERDICTS, Verdicts, where)


def counts(
    rows: Iterable[RequirementVerdict], requirements: Mapping[str, Requirement], *, broker_side: bool = False
) -> dict[str, int]:
    """Return how many requirements have which verdict, worst last: `{"pass": 30, "expected fail": 2}`.

    Expected failures are counted apart. Broker-side rows never count for or against a client, so they are counted on
    their own.
    """
    found = Counter(shown(row) for row in rows if (requirements[row.requirement].side is Side.BROKER) is broker_side)
    return {words: found[words] for words in SHOWN if found[words]}


def shown(row: RequirementVerdict | Cell) -> str:
    """Return the verdict in words a table shows: a failure that is listed says so."""
    if row.expected is Expected.EXPECTED_FAIL and row.verdict is not Verdict.PASS:
        return f"expected {row.verdict.value}"
    return row.verdict.value


MOST_WHY = 3
"""Reasons why a requirement was not judged that are listed one by one."""


def not_judged(row: RequirementVerdict | Cell) -> tuple[str, ...]:
    """Return how often it was not judged and why, a sentence for each reason, the most frequent first.

    The reasons beyond `MOST_WHY` share one.
    """
    by_reason = sorted(row.not_judged.items(), key=lambda item: (-item[1], item[0]))
    sentences = [f"not judged {counted(count, 'time')}: {reason}" for reason, count in by_reason[:MOST_WHY]]
    if more := by_reason[MOST_WHY:]:
        times = counted(sum(count for _, count in more), "time")
        sentences.append(f"not judged {times} for {counted(len(more), 'other reason')}, which verdicts.json has")
    return tuple(sentences)


def void(row: RequirementVerdict) -> tuple[str, ...]:
    """Return which Cases say nothing of it and why, a sentence for each reason, the most frequent first.

    The reasons beyond `MOST_WHY` share one.
    """
    by_reason = sorted(row.void.items(), key=lambda item: (-item[1], item[0]))
    sentences = [f"{counted(count, 'Case')} {reason}" for reason, count in by_reason[:MOST_WHY]]
    if more := by_reason[MOST_WHY:]:
        cases = counted(sum(count for _, count in more), "Case")
        sentences.append(f"{cases} for {counted(len(more), 'other reason')}, which verdicts.json has")
    return tuple(sentences)


_ORDER = (
    Verdict.PASS,
    Verdict.INFO,
    Verdict.WARN,
    Verdict.UNSUPPORTED,
    Verdict.UNAVAILABLE,
    Verdict.INCONCLUSIVE,
    Verdict.UNTESTABLE,
    Verdict.INVALID,
    Verdict.FAIL,
    Verdict.HARNESS_ERROR,
)
SHOWN: tuple[str, ...] = tuple(words for v in _ORDER for words in (v.value, f"expected {v.value}"))
"""Every answer of `shown`, best first."""


class Difference(msgspec.Struct, frozen=True):
    """A requirement that came to something else; None where one side has no word on it."""

    requirement: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"{self.requirement}: {self.before or 'not judged'} -> {self.after or 'not judged'}"


def differences(before: Verdicts, after: Verdicts) -> tuple[Difference, ...]:
    """Return what changed between two judgements of one history, as with a newer catalogue, by requirement id."""
    old = {row.requirement: _sentence(row) for row in before.requirements}
    new = {row.requirement: _sentence(row) for row in after.requirements}
    return tuple(
        Difference(requirement, old.get(requirement), new.get(requirement))
        for requirement in sorted({*old, *new})
        if old.get(requirement) != new.get(requirement)
    )


def _sentence(row: RequirementVerdict) -> str:
    codes = ", ".join(sorted({finding.code for finding in row.findings}))
    return f"{shown(row)} ({codes})" if codes else shown(row)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of verdicts.json."""
    return {"$schema": DIALECT, **with_plain_descriptions(msgspec.json.schema(Verdicts))}
