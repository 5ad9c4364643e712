"""Whether a bug was noticed: its affected version breaks a clause in a Case in which the fixed one keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from bench.past_bugs.evidence import BROKEN, Evidence
from bench.past_bugs.pairs import Pair

from assay_conformance.model.verdict import Verdict


class Detection(StrEnum):
    """`noisy`: both versions break it alike; `undecided`: the fixed one was not judged where the other one broke it."""

    DETECTED = "detected"
    NOISY = "noisy"
    UNDECIDED = "undecided"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class Sign:
    """A clause that the affected version breaks in a Case, and what the fixed one came to there."""

    requirement: str
    case: str
    codes: tuple[str, ...]
    verdict: Verdict
    fixed: Verdict | None


@dataclass(frozen=True, slots=True)
class Result:
    """`signs` are those that decided; `clean`: their clauses that the fixed version keeps in every Case."""

    detection: Detection
    signs: tuple[Sign, ...] = ()
    clean: tuple[str, ...] = ()

    @property
    def everywhere(self) -> bool:
        """The fixed version keeps one of the clauses in every Case."""
        return self.detection is Detection.DETECTED and bool(self.clean)

    @property
    def rests_on(self) -> set[Verdict]:
        """How the affected version broke the clauses that the fixed one keeps in every Case."""
        return {sign.verdict for sign in self.signs if sign.requirement in self.clean}


def judged(pair: Pair, affected: Evidence, fixed: Evidence) -> Result:
    """Judge a pair by the clauses that it names, and no others."""
    signs = tuple(_signs(pair, affected, fixed))
    caught = tuple(sign for sign in signs if sign.fixed is Verdict.PASS)
    if caught:
        named = {sign.requirement for sign in caught}
        clean = tuple(sorted(one for one in named if not _breaks(fixed, one)))
        return Result(Detection.DETECTED, caught, clean)
    if any(sign.fixed in BROKEN for sign in signs):
        return Result(Detection.NOISY, signs)
    return Result(Detection.UNDECIDED if signs else Detection.MISSED, signs)


def _signs(pair: Pair, affected: Evidence, fixed: Evidence) -> Iterator[Sign]:
    for requirement in pair.requirements:
        there = fixed.cells.get(requirement, {})
        for case, seen in affected.cells.get(requirement, {}).items():
            if seen.verdict in BROKEN and (not pair.codes or set(pair.codes) & set(seen.codes)):
                come_to = there[case].verdict if case in there else None
                yield Sign(requirement, case, seen.codes, seen.verdict, come_to)


def _breaks(found: Evidence, requirement: str) -> bool:
    return any(seen.verdict in BROKEN for seen in found.cells.get(requirement, {}).values())
