"""What the catalogue and the Cases say of one requirement, for a person who has just met its id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from assay_conformance.catalogue import Catalogue
from assay_conformance.checks.base import Check
from assay_conformance.model.case import Case
from assay_conformance.model.requirement import Disposition, Level, Requirement, RequirementId, Side, Source, Statement
from assay_reports.describe import fault_words


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """A Case made for the requirement: what happens in it, and what goes wrong."""

    case: str
    title: str
    tier: str
    faults: tuple[str, ...]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Everything stated of a requirement. `broken` is what an application meets when it does not hold; `check` is the
    class that judges it, by its dotted name, and empty where nothing does."""

    id: RequirementId
    row: str
    title: str
    level: str
    side: str
    status: str
    disposition: str
    reason: str
    lever: str
    clause: str
    sources: tuple[Source, ...]
    why: str
    broken: str
    counts: str
    capabilities: tuple[str, ...]
    assumes: tuple[str, ...]
    presupposes: tuple[str, ...]
    profiles: tuple[str, ...]
    check: str
    covers: tuple[Statement, ...]
    tested: tuple[Tested, ...]


_FREE = "Clients are free here: what a client does is recorded, and counts neither for nor against it."
_COUNTS: dict[Level, str] = {
    Level.MUST: "A failure ends `assay certify` with 1 unless it is listed in the expectations.",
    Level.SHOULD: "A breach is a warning; with --strict it ends `assay certify` with 1 unless it is listed.",
    Level.MAY: _FREE,
}
_UNTESTED: dict[Disposition, str] = {
    Disposition.OBSERVED: _FREE,
    Disposition.NOT_TESTABLE: "Nothing judges it, and no certificate claims it.",
}
_BROKER = "The duty is the broker's: a failure is shown apart and says nothing about the client."


def explanation(
    requirement: Requirement, catalogue: Catalogue, checks: Mapping[str, type[Check]], cases: Iterable[Case]
) -> Explanation:
    return Explanation(
        id=requirement.id,
        row=requirement.row,
        title=requirement.title,
        level=requirement.level.value,
        side=requirement.side.value,
        status=requirement.status.value,
        disposition=requirement.disposition.value,
        reason=requirement.reason,
        lever=requirement.lever,
        clause=requirement.clause,
        sources=requirement.sources,
        why=requirement.why,
        broken=catalogue.broken.get(requirement.chapter, ""),
        counts=_counts(requirement),
        capabilities=requirement.capabilities,
        assumes=requirement.assumes,
        presupposes=requirement.presupposes,
        profiles=tuple(name for name, profile in catalogue.profiles.items() if profile.takes(requirement)),
        covers=tuple(catalogue.statements[name] for name in requirement.covers),
        check=dotted(checks.get(requirement.id)),
        tested=tuple(_tested(requirement.id, cases)),
    )


def dotted(check: type[Check] | None) -> str:
    """Return what to open to read how a requirement is judged."""
    return "" if check is None else f"{check.__module__}.{check.__qualname__}"


def _counts(requirement: Requirement) -> str:
    if untested := _UNTESTED.get(requirement.disposition):
        return untested
    return _BROKER if requirement.side is Side.BROKER else _COUNTS[requirement.level]


def _tested(requirement: RequirementId, cases: Iterable[Case]) -> Iterator[Tested]:
    for case in cases:
        if requirement in case.requirements:
            faults = tuple(fault_words(fault) for fault in case.faults)
            yield Tested(case=case.id, title=case.title, tier=case.tier.value, faults=faults)


def sections(explained: Explanation) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (heading, its lines), in the order in which a person asks."""
    yield "Clause", (explained.clause, f"{explained.level}, the {explained.side} side's duty, {explained.status}")
    if explained.covers:
        yield "It covers", tuple(f"{statement.name}: {statement.words}" for statement in explained.covers)
    yield "Sources", tuple(f"{source.name}  {source.link}".rstrip() for source in explained.sources)
    if explained.why:
        yield "Why it matters", (explained.why,)
    yield "A failure means", tuple(line for line in (explained.broken, explained.counts) if line)
    if explained.reason:
        yield f"Why it is {explained.disposition}", (explained.reason,)
    if explained.lever:
        yield "The lever that was tried", (explained.lever,)
    if explained.disposition != Disposition.NOT_TESTABLE:
        yield "How it is tested", tuple(_lines(explained))
    if explained.capabilities:
        yield "Asked of clients that declare", (", ".join(explained.capabilities),)
    if explained.assumes:
        yield "Not asked of clients that lack", (" and ".join(explained.assumes),)
    if explained.presupposes:
        yield "Cannot be judged where these are broken", (", ".join(explained.presupposes),)
    if explained.profiles:
        yield "Profiles", (", ".join(explained.profiles),)


def _lines(explained: Explanation) -> Iterator[str]:
    for case in explained.tested:
        yield f"{case.case}: {case.title}" + (" (tier full)" if case.tier == "full" else "")
        yield from (f"    {fault}" for fault in case.faults)
    yield f"Its check, {explained.check}, also reads the history of every other Case, wherever the precondition occurs."
