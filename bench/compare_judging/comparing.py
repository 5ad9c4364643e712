"""What two sides say differently of the same history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec
from bench.compare_judging.results import Found, Judged, Said


class Kind(StrEnum):
    """Of a difference, in the order in which they are listed."""

    LOST = "finding only before"
    NEW = "finding only after"
    OTHER_EVENTS = "other events in a finding"
    FEWER = "exercised fewer"
    VERDICT = "another verdict"
    GRADE = "other evidence grades"
    NOT_JUDGED = "could not be judged"


class Difference(msgspec.Struct, frozen=True):
    requirement: str
    kind: Kind
    history: str
    detail: str


@dataclass(frozen=True, slots=True)
class Renames:
    """What the earlier side calls by other names. `codes`: of findings, by the requirement's new id and the old one."""

    requirements: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def of_id(self, requirement: str) -> str:
        return self.requirements.get(requirement, requirement)

    def of(self, judged: Judged) -> dict[str, Said]:
        """Return what was said, under the later side's names."""
        renamed: dict[str, Said] = {}
        for old, said in judged.said.items():
            new = self.of_id(old)
            findings = tuple((self.codes.get((new, code), code), events) for code, events in said.findings)
            renamed[new] = msgspec.structs.replace(said, findings=findings)
        return renamed


def differences(before: Judged, after: Judged, renames: Renames) -> Iterator[Difference]:
    """Yield the differences of one history, requirement by requirement.

    That a requirement is exercised more often by the later side is no difference.
    """
    if after.trouble or before.trouble:
        if after.trouble != before.trouble:
            text = f"before: {before.trouble or 'judged'}; after: {after.trouble or 'judged'}"
            yield Difference("", Kind.NOT_JUDGED, before.name, text)
        return
    earlier = renames.of(before)
    for requirement in sorted(earlier.keys() | after.said.keys()):
        for kind, detail in _of_one(earlier.get(requirement), after.said.get(requirement)):
            yield Difference(requirement, kind, before.name, detail)


def compared(before: Iterable[Judged], after: Iterable[Judged], renames: Renames) -> Iterator[Difference]:
    """Yield the differences of all histories that both sides judged."""
    later = {one.name: one for one in after}
    for one in before:
        if one.name in later:
            yield from differences(one, later[one.name], renames)


_NOTHING = Said(verdict="")


def _of_one(before: Said | None, after: Said | None) -> Iterator[tuple[Kind, str]]:
    before, after = before or _NOTHING, after or _NOTHING
    found = list(_findings(before, after))
    yield from found
    if after.exercised < before.exercised:
        gone = sorted(set(before.subjects) - set(after.subjects))
        yield Kind.FEWER, f"{before.exercised} -> {after.exercised}, no more: {gone[:SHOWN]}{_now(after)}"
    elif found:
        return
    elif before.verdict != after.verdict and (before.verdict, after.verdict) != ("", "pass"):
        was = f"{before.verdict or 'not mentioned'}{_because(before)}"
        yield Kind.VERDICT, f"{was} -> {after.verdict or 'not mentioned'}{_because(after)}"
    elif before.grades != after.grades:
        yield Kind.GRADE, f"{before.grades} -> {after.grades}"


SHOWN = 10
"""Events that are named."""


def _findings(before: Said, after: Said) -> Iterator[tuple[Kind, str]]:
    lost = list((Counter(before.findings) - Counter(after.findings)).elements())
    new = list((Counter(after.findings) - Counter(before.findings)).elements())
    for one in list(lost):
        if (other := next((each for each in new if _is_like(one, each)), None)) is not None:
            lost.remove(one)
            new.remove(other)
            yield Kind.OTHER_EVENTS, f"{_text(one)} -> {list(other[1])}"
    for one in lost:
        yield Kind.LOST, _text(one) + _now(after)
    for one in new:
        yield Kind.NEW, _text(one)


def _is_like(one: Found, other: Found) -> bool:
    """Return whether two findings have the same code, and an event in common."""
    return one[0] == other[0] and not set(one[1]).isdisjoint(other[1])


def _text(found: Found) -> str:
    return f"{found[0]} {list(found[1])}"


def _now(after: Said) -> str:
    return f"; now {after.verdict or 'not mentioned'}{_because(after)}"


def _because(said: Said) -> str:
    reasons = [said.reason] if said.reason else []
    reasons += [f"{count} not judged: {reason}" for reason, count in said.not_judged.items()]
    return f" ({'; '.join(reasons)})" if reasons else ""
