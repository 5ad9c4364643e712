"""How a run stands to its expectations: pure, from judgements to verdict rows with their `Expected` state.

The unit is a cell, one requirement in one Case, since that is what an entry names. What went wrong in a cell is a set
of codes: its findings' codes, and `untestable` or `invalid` where the Case says nothing of the requirement, so that
this too can be listed. Listed codes are expected; any other is not, but what is untestable of a broker is not the
client's, what another failure of the same Case kept away is reported there, and a permutation in which a requirement
is not reached or not decided that other Cases exercised is a note: its circumstances may leave no room for it, and the
machine no time. Rows take the worst state of their cells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum

import msgspec

from assay_conformance.model.case import words_of
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import (
    EXERCISED,
    VOID,
    WORST_FIRST,
    Expected,
    Finding,
    Judgement,
    RequirementVerdict,
    Verdict,
    sum_not_judged,
)
from assay_reports.deviations import Occurs
from assay_reports.expectations import Expectation, Known

DECISIVE = EXERCISED | {Verdict.UNTESTABLE}
"""Verdicts that say what the client did; the others leave open whether a listed failure would have shown."""

COUNTS_AGAINST = frozenset({Verdict.FAIL, *VOID})
"""Verdicts that keep a run from exit code 0 unless every code in them is listed; an unlisted SHOULD or MAY is merely
not listed."""

OPEN = VOID | {Verdict.INCONCLUSIVE}
"""Verdicts that leave a requirement open."""

WORST_STATE_FIRST: tuple[Expected, ...] = (
    Expected.UNEXPECTED,
    Expected.EXPIRED,
    Expected.STALE,
    Expected.EXPECTED_FAIL,
    Expected.TOLERATED,
    Expected.NOT_LISTED,
)


class EntryState(StrEnum):
    """What became of one entry in this run."""

    MATCHED = "matched"
    STAYED_AWAY = "stayed-away"
    STALE = "stale"
    EXPIRED = "expired"
    UNDECIDED = "undecided"
    OTHER_VERSION = "other-version"
    NOT_SELECTED = "not-selected"


FAILS_THE_RUN = frozenset({EntryState.STALE, EntryState.EXPIRED})


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of a file and what became of it. `broker`: whose failure it is, where it is not the client's."""

    state: EntryState
    expectation: Expectation
    broker: str = ""


class Cell(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """One requirement in one Case, over the attempts that count. `listed` are the reasons of the expected codes.
    `not_judged`: reason -> how many occurrences of its precondition were not judged for it."""

    requirement: RequirementId
    case: str
    verdict: Verdict
    exercised: int
    expected: Expected = Expected.NOT_LISTED
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    attempts: tuple[int, ...] = ()
    listed: tuple[str, ...] = ()
    not_judged: dict[str, int] = {}


class Matching(msgspec.Struct, frozen=True, kw_only=True):
    """`beside`: cells of permutations that leave open what other Cases exercised; they count when strict."""

    rows: tuple[RequirementVerdict, ...]
    cells: tuple[Cell, ...]
    entries: tuple[Entry, ...]
    beside: tuple[Cell, ...] = ()


def match_expectations(
    rows: Sequence[RequirementVerdict],
    judgements: Iterable[Judgement],
    known: Sequence[Known],
    today: date,
    selected: Collection[str],
    of_brokers: Collection[str] = (),
) -> Matching:
    """Return the folded rows with their state, the cells under them, and what became of each entry.

    `known` are the failures expected of the client, and of its broker. `selected` are the Cases of the plan; an entry
    of another Case, or of other versions, says nothing about this run. `of_brokers` are the requirements that a broker
    has to keep.
    """
    current = [judgement for judgement in judgements if not judgement.superseded]
    grouped: dict[tuple[str, str], list[Judgement]] = {}
    for judgement in current:
        grouped.setdefault((judgement.requirement, judgement.case), []).append(judgement)
    judged_cases = {judgement.case for judgement in current if judgement.verdict in DECISIVE}
    judged_cases -= {judgement.case for judgement in current if _is_of_late_machine(judgement)}
    entries = tuple(
        Entry(
            state=_state(entry, one.version, today, selected, grouped, judged_cases),
            expectation=entry,
            broker=one.expectations.broker,
        )
        for one in known
        for entry in one.expectations.entries
    )
    in_force, notes = _in_force(entries), _notes(grouped)
    cells = tuple(
        _cell(
            group,
            [entry for entry in in_force.get(requirement, ()) if entry.expectation.excuses(case)],
            _against(requirement in of_brokers, (requirement, case) in notes),
        )
        for (requirement, case), group in grouped.items()
    )
    of_row: dict[str, list[Cell]] = {}
    for cell in cells:
        of_row.setdefault(cell.requirement, []).append(cell)
    stated = tuple(_row(row, of_row.get(row.requirement, ()), entries) for row in rows)
    beside = (cell for cell in cells if cell.expected is Expected.NOT_LISTED and cell.requirement not in of_brokers)
    return Matching(
        rows=stated,
        cells=cells,
        entries=entries,
        beside=tuple(cell for cell in beside if (cell.requirement, cell.case) in notes),
    )


def is_listed(judgement: Judgement, known: Iterable[Known]) -> bool:
    """Return whether something failed there and all of it is listed, for the versions that the run met."""
    left = set(_codes(judgement))
    if not left:
        return False
    for one in known:
        for entry in one.expectations.entries:
            is_its = entry.requirement == judgement.requirement and entry.code in left
            if is_its and entry.excuses(judgement.case) and entry.applies_to(one.version):
                left.discard(entry.code)
    return not left


def may_be_hidden(judgement: Judgement, known: Iterable[Known]) -> bool:
    """Return whether it passed on a machine that was late, although a failure that always occurs is listed for it."""
    return judgement.machine_was_late and any(
        entry.requirement == judgement.requirement
        and entry.occurs is Occurs.ALWAYS
        and entry.is_about(judgement.case)
        and entry.applies_to(one.version)
        for one in known
        for entry in one.expectations.entries
    )


def _state(
    entry: Expectation,
    version: str,
    today: date,
    selected: Collection[str],
    grouped: Mapping[tuple[str, str], Sequence[Judgement]],
    judged_cases: Collection[str],
) -> EntryState:
    if not entry.applies_to(version):
        return EntryState.OTHER_VERSION
    homes = {case for case in selected if entry.is_about(case)}
    if not homes:
        return EntryState.NOT_SELECTED
    if entry.expires is not None and entry.expires < today:
        return EntryState.EXPIRED
    group = [judgement for case in homes for judgement in grouped.get((entry.requirement, case), ())]
    if any(entry.code in _codes(judgement) for judgement in group):
        return EntryState.MATCHED
    if not _kept(group, homes & set(judged_cases) if entry.names_a_case else ()):
        return EntryState.UNDECIDED
    return EntryState.STALE if entry.occurs is Occurs.ALWAYS else EntryState.STAYED_AWAY


def _kept(group: Sequence[Judgement], judged: Collection[str]) -> bool:
    """Whether the listed failure surely did not happen.

    Where the requirement broke in another way, or was not reached, the listed breach may only be hidden; so it may
    where the machine was late, for then the client met another course of things. A Case that was judged without a word
    on the requirement did not even exercise it; `judged` are those that have to.
    """
    if not group:
        return bool(judged)
    return all(one.verdict in DECISIVE and not _codes(one) and not _is_of_late_machine(one) for one in group)


def _is_of_late_machine(judgement: Judgement) -> bool:
    return judgement.machine_was_late or judgement.verdict is Verdict.INCONCLUSIVE


def _codes(judgement: Judgement) -> frozenset[str]:
    return codes_of(judgement.verdict, judgement.findings)


def codes_of(verdict: Verdict, findings: Iterable[Finding]) -> frozenset[str]:
    """Return what an entry has to list: the codes of the findings, or the verdict that takes their place."""
    return frozenset({verdict.value}) if verdict in VOID else frozenset(finding.code for finding in findings)


def _in_force(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """By requirement."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.state is not EntryState.OTHER_VERSION:
            found.setdefault(entry.expectation.requirement, []).append(entry)
    return found


def _notes(grouped: Mapping[tuple[str, str], Sequence[Judgement]]) -> frozenset[tuple[str, str]]:
    """Return the permutations that leave a requirement open, by no other's fault, which other Cases exercised."""
    exercised = {
        requirement
        for (requirement, _), group in grouped.items()
        if any(judgement.verdict in EXERCISED and judgement.exercised for judgement in group)
    }
    return frozenset(
        (requirement, case)
        for (requirement, case), group in grouped.items()
        if words_of(case) and requirement in exercised
        if all(judgement.verdict in OPEN and not judgement.kept_away_by for judgement in group)
    )


def _against(is_of_broker: bool, is_note: bool) -> Collection[Verdict]:
    if is_note:
        return COUNTS_AGAINST - VOID
    return COUNTS_AGAINST - {Verdict.UNTESTABLE} if is_of_broker else COUNTS_AGAINST


def _cell(group: Sequence[Judgement], entries: Sequence[Entry], against: Collection[Verdict]) -> Cell:
    worst = min(group, key=lambda judgement: WORST_FIRST.index(judgement.verdict))
    codes = frozenset().union(*(_codes(judgement) for judgement in group))
    counts = any(judgement.verdict in against and not judgement.kept_away_by for judgement in group)
    return Cell(
        requirement=worst.requirement,
        case=worst.case,
        verdict=worst.verdict,
        exercised=sum(judgement.exercised for judgement in group),
        expected=_cell_state(codes, counts, entries, worst.case),
        reason=worst.reason,
        findings=tuple(finding for judgement in group for finding in judgement.findings),
        attempts=tuple(judgement.attempt for judgement in group),
        listed=tuple(entry.expectation.reason for entry in entries if entry.expectation.code in codes),
        not_judged=sum_not_judged(group),
    )


def _cell_state(codes: frozenset[str], counts: bool, entries: Sequence[Entry], case: str) -> Expected:
    if codes - {entry.expectation.code for entry in entries}:
        return Expected.UNEXPECTED if counts else Expected.NOT_LISTED
    states = [_cells_state(entry, codes, case) for entry in entries]
    return min(states, key=WORST_STATE_FIRST.index, default=Expected.NOT_LISTED)


def _cells_state(entry: Entry, codes: frozenset[str], case: str) -> Expected:
    """Permutations may fail as their Case does, whatever became of the entry there, and need not."""
    if not words_of(case):
        return _OF_ENTRY[entry.state]
    if entry.expectation.code not in codes:
        return Expected.NOT_LISTED
    return Expected.EXPIRED if entry.state is EntryState.EXPIRED else Expected.EXPECTED_FAIL


_OF_ENTRY: dict[EntryState, Expected] = {
    EntryState.MATCHED: Expected.EXPECTED_FAIL,
    EntryState.STAYED_AWAY: Expected.TOLERATED,
    EntryState.STALE: Expected.STALE,
    EntryState.EXPIRED: Expected.EXPIRED,
    EntryState.UNDECIDED: Expected.NOT_LISTED,
    EntryState.OTHER_VERSION: Expected.NOT_LISTED,
    EntryState.NOT_SELECTED: Expected.NOT_LISTED,
}


def _row(row: RequirementVerdict, cells: Iterable[Cell], entries: Iterable[Entry]) -> RequirementVerdict:
    states = [cell.expected for cell in cells]
    states += [_OF_ENTRY[entry.state] for entry in entries if entry.expectation.requirement == row.requirement]
    worst = min(states, key=WORST_STATE_FIRST.index, default=Expected.NOT_LISTED)
    return msgspec.structs.replace(row, expected=worst)
