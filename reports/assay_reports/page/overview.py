"""What the page lets a reader sift: the filters there are, the cells under each requirement, and the Cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import WORST_FIRST, Verdict
from assay_reports.report import Report
from assay_reports.standing import Cell
from assay_reports.verdicts import SHOWN, shown

QUIET = frozenset({Verdict.PASS, Verdict.UNSUPPORTED, Verdict.INFO})
"""Verdicts of a cell that need no line of their own."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One value that rows may have, and how many have it."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class Filter:
    """Rows carry `data-<name>`; a row stays when its value is among the chosen ones, or none is chosen."""

    name: str
    words: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Cells:
    """The Cases of one requirement: those with something to tell, and the ids of the quiet ones."""

    told: tuple[Cell, ...]
    quiet: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One Case that ran: its worst cell, and how many requirements it exercised of those it was judged by."""

    id: str
    title: str
    worst: Cell
    exercised: int
    judged: int
    replay: str


def filters(report: Report) -> tuple[Filter, ...]:
    """One filter for each question with more than one answer among this run's rows."""
    requirements = report.catalogue.requirements
    rows = report.verdicts.requirements
    named = (
        ("verdict", "Verdict", [shown(row) for row in rows], SHOWN),
        ("side", "Side", [requirements[row.requirement].side.value for row in rows], ()),
        ("level", "Level", [requirements[row.requirement].level.value for row in rows], ("MUST", "SHOULD", "MAY")),
        ("seen", "Seen", [seen(row.exercised) for row in rows], ("exercised", "never exercised")),
    )
    every = (Filter(name, words, tuple(_choices(values, order))) for name, words, values, order in named)
    return tuple(one for one in every if len(one.choices) > 1)


def seen(exercised: int) -> str:
    return "exercised" if exercised else "never exercised"


def _choices(values: Iterable[str], order: Iterable[str]) -> Iterable[Choice]:
    found = Counter(values)
    return (Choice(value, found[value]) for value in dict.fromkeys([*order, *sorted(found)]) if found[value])


def cells(report: Report) -> Mapping[RequirementId, Cells]:
    """Of every requirement that was judged."""
    grouped: dict[RequirementId, list[Cell]] = {row.requirement: [] for row in report.verdicts.requirements}
    for cell in report.verdicts.cells:
        grouped.setdefault(cell.requirement, []).append(cell)
    return {
        requirement: Cells(
            told=tuple(sorted((c for c in found if c.verdict not in QUIET), key=_by_severity)),
            quiet=tuple(c.case for c in found if c.verdict in QUIET),
        )
        for requirement, found in grouped.items()
    }


def cases(report: Report) -> tuple[CaseRow, ...]:
    """Every Case that was judged, by id."""
    grouped: dict[str, list[Cell]] = {}
    for cell in report.verdicts.cells:
        grouped.setdefault(cell.case, []).append(cell)
    return tuple(
        CaseRow(
            id=id,
            title=report.cases[id].title,
            worst=min(found, key=_by_severity),
            exercised=sum(cell.exercised > 0 for cell in found),
            judged=len(found),
            replay=report.replays.get(id, ""),
        )
        for id, found in sorted(grouped.items())
    )


def _by_severity(cell: Cell) -> tuple[int, str]:
    return WORST_FIRST.index(cell.verdict), cell.case
