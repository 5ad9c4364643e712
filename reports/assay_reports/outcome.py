"""The exit code of a run, and why: a table, so that no two places can disagree.

0 all as expected; 1 an unexpected failure, a stale or an expired expectation; 2 usage or configuration; 3 inconclusive,
invalid, asked-for means unavailable, or nothing ran; 4 harness error; 130 interrupted. When several apply, the first of
`PRECEDENCE`. Nothing selected and nothing exercised are never 0. What is listed does not count, nor what is untestable
of a broker, nor, unless strict, a permutation that leaves a requirement open that other Cases exercised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from assay_conformance.model.verdict import Expected, Verdict
from assay_reports.expectation_matching import Cell, Entry, EntryState, Matching
from assay_reports.text import counted


class Cause(StrEnum):
    """What can keep a run from being 0."""

    INTERRUPTED = "interrupted"
    BROKEN_OFF = "broken-off"
    USAGE = "usage"
    HARNESS_ERROR = "harness-error"
    UNEXPECTED_FAILURE = "unexpected-failure"
    WARNING = "warning"
    STALE = "stale"
    EXPIRED = "expired"
    INVALID = "invalid"
    INCONCLUSIVE = "inconclusive"
    UNAVAILABLE = "unavailable"
    NOTHING_SELECTED = "nothing-selected"
    NOTHING_EXERCISED = "nothing-exercised"


EXIT_CODE: dict[Cause, int] = {
    Cause.INTERRUPTED: 130,
    Cause.BROKEN_OFF: 130,
    Cause.USAGE: 2,
    Cause.HARNESS_ERROR: 4,
    Cause.UNEXPECTED_FAILURE: 1,
    Cause.WARNING: 1,
    Cause.STALE: 1,
    Cause.EXPIRED: 1,
    Cause.INVALID: 3,
    Cause.INCONCLUSIVE: 3,
    Cause.UNAVAILABLE: 3,
    Cause.NOTHING_SELECTED: 3,
    Cause.NOTHING_EXERCISED: 3,
}

PRECEDENCE: tuple[int, ...] = (130, 2, 4, 1, 3, 0)

WORDS: dict[int, str] = {
    0: "all as expected",
    1: "not as expected",
    2: "usage or configuration",
    3: "no verdict",
    4: "harness error",
    130: "interrupted",
}

_OF_VERDICT: dict[Verdict, Cause] = {
    Verdict.HARNESS_ERROR: Cause.HARNESS_ERROR,
    Verdict.INCONCLUSIVE: Cause.INCONCLUSIVE,
}

_OF_VOID: dict[Verdict, Cause] = {
    Verdict.UNTESTABLE: Cause.UNEXPECTED_FAILURE,
    Verdict.INVALID: Cause.INVALID,
}
"""Where it is the client's, and not listed."""

_OF_ENTRY: dict[EntryState, Cause] = {EntryState.STALE: Cause.STALE, EntryState.EXPIRED: Cause.EXPIRED}

_FORGIVEN = frozenset({Expected.EXPECTED_FAIL, Expected.EXPIRED})
"""States of a cell whose every code is listed; an expired entry fails the run by itself."""


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One cause and the sentence that names what has it."""

    cause: Cause
    sentence: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    exit_code: int
    reasons: tuple[Reason, ...] = ()


def outcome(
    standing: Matching,
    *,
    selected: int,
    ended_early: Cause | None = None,
    strict: bool = False,
    asked_for_unavailable: Mapping[str, str] | None = None,
    explored: Sequence[str] | None = None,
) -> Outcome:
    """Return the exit code of a run of `selected` Cases. `asked_for_unavailable` are means named by the user, and what
    could not be run with them, and why. `explored`: it was an exploration, which left so much open; None for any other
    run.

    `ended_early` is INTERRUPTED, or BROKEN_OFF for a run that could not even say so: killed, or out of disk.
    `strict` makes `warn` count as a failure does, and a permutation as its Case does. `info` never counts: the
    specification leaves the choice open.
    """
    reasons = [
        *([_early(ended_early, standing, selected)] if ended_early else []),
        *(reason for cell in _without_notes(standing) if (reason := _of_cell(cell, strict))),
        *(_left_open(cell) for cell in standing.beside if strict),
        *(reason for entry in standing.entries if (reason := _of_stated(entry))),
        *(
            Reason(Cause.UNAVAILABLE, f"{name} was asked for, and {reason}")
            for name, reason in (asked_for_unavailable or {}).items()
        ),
        *(Reason(Cause.INCONCLUSIVE, sentence) for sentence in explored or ()),
        *_nothing(standing, selected, explored is not None),
    ]
    return Outcome(exit_code=exit_code(reason.cause for reason in reasons), reasons=tuple(reasons))


_EARLY: dict[Cause, str] = {
    Cause.INTERRUPTED: "the run was interrupted",
    Cause.BROKEN_OFF: "the run broke off, killed or out of means",
}


_NOTHING_SELECTED = "no Case was selected; `assay list cases` shows them"
_NOTHING_KEPT = "the exploration was over before a Case was kept; explored.jsonl holds what was drawn and run"


def _early(cause: Cause, standing: Matching, selected: int) -> Reason:
    judged = len({cell.case for cell in standing.cells})
    return Reason(cause, f"{_EARLY[cause]}: {judged} of {counted(selected, 'Case')} had been judged, and are kept")


def exit_code(causes: Iterator[Cause]) -> int:
    """Return the first code of `PRECEDENCE` that a cause has; 0 without causes."""
    return min((EXIT_CODE[cause] for cause in causes), key=PRECEDENCE.index, default=0)


def _without_notes(standing: Matching) -> Iterator[Cell]:
    notes = {(cell.requirement, cell.case) for cell in standing.beside}
    return (cell for cell in standing.cells if (cell.requirement, cell.case) not in notes)


def _left_open(cell: Cell) -> Reason:
    why = f", {cell.reason}" if cell.reason else ""
    cause = (_OF_VOID | _OF_VERDICT)[cell.verdict]
    return Reason(cause, f"{cell.requirement} in {cell.case}: {cell.verdict.value}{why}")


def _of_cell(cell: Cell, strict: bool) -> Reason | None:
    where = f"{cell.requirement} in {cell.case}"
    if cause := _OF_VERDICT.get(cell.verdict):
        return Reason(cause, f"{where}: {cell.reason or cell.verdict.value}")
    if cell.expected is Expected.UNEXPECTED and cell.verdict in _OF_VOID:
        return _left_open(cell)
    if cell.verdict is Verdict.FAIL and cell.expected not in _FORGIVEN:
        return Reason(Cause.UNEXPECTED_FAILURE, f"{where}: {_codes(cell)}")
    if strict and cell.verdict is Verdict.WARN and cell.expected not in _FORGIVEN:
        return Reason(Cause.WARNING, f"{where}: {_codes(cell)}")
    return None


def _codes(cell: Cell) -> str:
    return ", ".join(dict.fromkeys(finding.code for finding in cell.findings)) or cell.verdict.value


def _of_stated(entry: Entry) -> Reason | None:
    cause = _OF_ENTRY.get(entry.state)
    return None if cause is None else Reason(cause, entry_sentence(entry))


def entry_sentence(entry: Entry) -> str:
    """Return why an entry that is stale or expired fails the run."""
    listed = entry.expectation
    description = (
        "is listed as a failure and passes; take the entry out"
        if entry.state is EntryState.STALE
        else f"is listed until {listed.expires}; look again, then move the date or take the entry out"
    )
    return f"{listed.requirement} in {listed.case}: {listed.code} {description}"


def _nothing(standing: Matching, selected: int, explored: bool) -> list[Reason]:
    if not selected:
        return [Reason(Cause.NOTHING_SELECTED, _NOTHING_KEPT if explored else _NOTHING_SELECTED)]
    if not any(cell.exercised for cell in standing.cells):
        return [Reason(Cause.NOTHING_EXERCISED, "no requirement's precondition occurred in any Case")]
    return []
