"""What the page lets a reader sift: the filters there are, the cells under each requirement, and the Cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace

from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import WORST_FIRST, RequirementVerdict, Verdict
from assay_reports.expectation_matching import Cell
from assay_reports.page.room import MOST_CASES, MOST_LISTED, Family, Part, base_of, families, names_each, part
from assay_reports.report import Report
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
    """The Cases of one requirement: those worth listing (a verdict that is not quiet, or an occurrence that
    was not judged), and the quiet ones, with their permutations."""

    listed: Part[Cell]
    quiet: Part[Family]


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One Case that ran: its worst cell, and how many requirements it exercised of those it was judged by.
    `permutations`: how many quiet ones of it have no row of their own."""

    id: str
    title: str
    worst: Cell
    exercised: int
    judged: int
    replay: str
    permutations: int = 0


def filters(report: Report) -> tuple[Filter, ...]:
    """Return one filter for each question to which this run's rows give more than one answer."""
    requirements = report.catalogue.requirements
    rows = report.verdicts.requirements
    named = (
        ("verdict", "Verdict", [shown(row) for row in rows], SHOWN),
        ("side", "Side", [requirements[row.requirement].side.value for row in rows], ()),
        ("level", "Level", [requirements[row.requirement].level.value for row in rows], ("MUST", "SHOULD", "MAY")),
        ("seen", "Seen", [seen(row.exercised) for row in rows], ("exercised", "never exercised")),
        ("judged", "Judged", [judged(row) for row in rows], ("always", "not always")),
    )
    every = (Filter(name, words, tuple(_choices(values, order))) for name, words, values, order in named)
    return tuple(one for one in every if len(one.choices) > 1)


def seen(exercised: int) -> str:
    return "exercised" if exercised else "never exercised"


def judged(row: RequirementVerdict) -> str:
    """Return whether each occurrence of the precondition was judged: `always` or `not always`."""
    return "not always" if row.not_judged else "always"


def _choices(values: Iterable[str], order: Iterable[str]) -> Iterable[Choice]:
    found = Counter(values)
    return (Choice(value, found[value]) for value in dict.fromkeys([*order, *sorted(found)]) if found[value])


def cells(report: Report) -> Mapping[RequirementId, Cells]:
    """Return by requirement the cells that the page lists, and those that it only names."""
    grouped: dict[RequirementId, list[Cell]] = {row.requirement: [] for row in report.verdicts.requirements}
    for cell in report.verdicts.cells:
        grouped.setdefault(cell.requirement, []).append(cell)
    return {
        requirement: Cells(
            listed=part(sorted((c for c in found if not _is_quiet(c)), key=_by_severity), MOST_LISTED),
            quiet=part(families(c.case for c in found if _is_quiet(c)), names_each(len(grouped))),
        )
        for requirement, found in grouped.items()
    }


def _is_quiet(cell: Cell) -> bool:
    return cell.verdict in QUIET and not cell.not_judged


def cases(report: Report) -> Part[CaseRow]:
    """Return the Cases that were judged, by id. Where they are too many, quiet permutations go without a row of their
    own; and where they still are, the worst are shown."""
    rows = _rows(report)
    if len(rows) > MOST_CASES:
        rows = _folded(rows)
    if len(rows) <= MOST_CASES:
        return Part(rows)
    worst = sorted(rows, key=lambda row: (WORST_FIRST.index(row.worst.verdict), row.id))
    return part(worst, MOST_CASES)


def _rows(report: Report) -> tuple[CaseRow, ...]:
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


def _folded(rows: Iterable[CaseRow]) -> tuple[CaseRow, ...]:
    """Without quiet permutations of Cases that have a row."""
    rows = tuple(rows)
    known = {row.id for row in rows}
    hidden = Counter(base_of(row.id) for row in rows if _can_be_folded(row, known))
    return tuple(replace(row, permutations=hidden[row.id]) for row in rows if not _can_be_folded(row, known))


def _can_be_folded(row: CaseRow, known: Set[str]) -> bool:
    base = base_of(row.id)
    return row.worst.verdict in QUIET and base != row.id and base in known


def _by_severity(cell: Cell) -> tuple[int, str]:
    return WORST_FIRST.index(cell.verdict), cell.case
