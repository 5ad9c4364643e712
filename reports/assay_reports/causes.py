"""Which failures of a run are told together: those that show in the same Cases, for one cause shows in many ways.

What a run shows is no proof of a cause: a person says in the end what has one. But a client that is new to the suite
fails in hundreds of Cases for some twenty causes, and whoever reads them one by one reads none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from assay_conformance.model.verdict import VOID
from assay_reports.report import Failure

K = TypeVar("K")

MOST_IN_FULL: Final = 10
"""Kinds of unexpected failures that are reported one by one; where there are more, causes are."""

ALIKE = 0.5
"""How much of all their Cases two kinds of failures have in common at least, to be told together."""


def together(cases: Mapping[K, frozenset[str]]) -> list[list[K]]:
    """Group kinds of failures by the Cases that they show in, the most frequent kind first in each group; groups in the
    order of their Cases' number."""
    groups: list[list[K]] = []
    for kind in sorted(cases, key=lambda kind: -len(cases[kind])):
        group = next((group for group in groups if _alike(cases[group[0]], cases[kind])), None)
        if group is None:
            groups.append([kind])
        else:
            group.append(kind)
    return groups


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= ALIKE * len(one | other)


@dataclass(frozen=True, slots=True)
class Kind:
    """What failed, and how. `code` is the finding's, or, of what is void, the reason without its numbers: failures to
    come to a verdict are alike across requirements, if anything is."""

    requirement: str
    verdict: str
    code: str


@dataclass(frozen=True, slots=True)
class Cause:
    """Failures that are told together, by kind, those first that show most."""

    kinds: Mapping[Kind, tuple[Failure, ...]]

    @property
    def first(self) -> Failure:
        """Return the failure that stands for all: that of the Case with the shortest name, which has the fewest
        circumstances."""
        return min(next(iter(self.kinds.values())), key=lambda failure: (len(failure.cell.case), failure.cell.case))

    @property
    def failures(self) -> Iterator[Failure]:
        return (failure for group in self.kinds.values() for failure in group)

    @property
    def cases(self) -> tuple[str, ...]:
        return tuple(sorted({failure.cell.case for failure in self.failures}))


def causes(failures: Iterable[Failure]) -> list[Cause]:
    """Group the failures that are not expected."""
    found: dict[Kind, list[Failure]] = {}
    for failure in failures:
        if not failure.expected:
            found.setdefault(_kind(failure), []).append(failure)
    cases = {kind: frozenset(failure.cell.case for failure in group) for kind, group in found.items()}
    return [Cause({kind: tuple(found[kind]) for kind in group}) for group in _groups(cases)]


def alike(failures: Iterable[Failure]) -> list[list[Failure]]:
    """Return those that are not expected, grouped by requirement, verdict and code."""
    groups: dict[tuple[str, ...], list[Failure]] = {}
    for failure in failures:
        if not failure.expected:
            code = failure.finding.code if failure.finding else ""
            groups.setdefault((failure.cell.requirement, failure.cell.verdict, code), []).append(failure)
    return list(groups.values())


def are_many(failures: Iterable[Failure]) -> bool:
    """Return whether so much failed that a person reads causes, and not each kind of failure."""
    return len(alike(failures)) > MOST_IN_FULL


def _groups(cases: Mapping[Kind, frozenset[str]]) -> Iterator[list[Kind]]:
    """Failures first; what is void is never told beneath a failure, nor a failure beneath what is void."""
    for void in (False, True):
        yield from together({kind: found for kind, found in cases.items() if (kind.verdict in VOID) is void})


def _kind(failure: Failure) -> Kind:
    verdict = failure.cell.verdict
    if failure.finding is not None:
        return Kind(failure.cell.requirement, verdict, failure.finding.code)
    return Kind("" if verdict in VOID else failure.cell.requirement, verdict, _NUMBER.sub("N", failure.sentence))


_NUMBER = re.compile(r"\d+(?:\.\d+)?")
