"""What of a judged run may be shown to everybody: all but what a listed security deviation explains.

verdicts.json and exploration.json hold everything. Page, JUnit, certificate and terminal are made from this view,
unless the deviation was asked for by its id. A verdict stays what it is; only what would tell how the failure is
brought about is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from assay_conformance.model.verdict import Finding, RequirementVerdict
from assay_reports.expectation_matching import Cell, Entry, EntryState
from assay_reports.exploration import Exploration
from assay_reports.outcome import Reason, entry_sentence
from assay_reports.verdicts import Verdicts

LEFT_OUT = "a listed deviation with consequences for security is left out here"


class _Withheld:
    """The entries in force of security deviations that were not asked for."""

    def __init__(self, entries: Iterable[Entry], disclosed: Collection[str]) -> None:
        self.entries: list[Entry] = []
        self._by_breach: dict[tuple[str, str], tuple[list[Entry], list[Entry]]] = {}
        for entry in entries:
            listed = entry.expectation
            if entry.state is EntryState.OTHER_VERSION:
                continue
            hidden, shown = self._by_breach.setdefault((listed.requirement, listed.code), ([], []))
            if listed.security and listed.deviation not in disclosed:
                hidden.append(entry)
                self.entries.append(entry)
            else:
                shown.append(entry)

    def explains(self, finding: Finding) -> bool:
        """Whether nothing else that is listed explains it."""
        hidden, shown = self._by_breach.get((finding.requirement, finding.code), ((), ()))
        return _excused(finding, hidden) and not _excused(finding, shown)

    def reasons(self) -> frozenset[str]:
        return frozenset(entry.expectation.reason for entry in self.entries)


def _excused(finding: Finding, entries: Iterable[Entry]) -> bool:
    return any(entry.expectation.excuses(finding.case) for entry in entries)


def published(document: Verdicts, disclosed: Collection[str] = ()) -> Verdicts:
    """Return the document without what security deviations explain, except for those whose ids are `disclosed`."""
    withheld = _Withheld(document.expectations, disclosed)
    if not withheld.entries:
        return document
    hidden = {id(entry) for entry in withheld.entries}
    sentences = {entry_sentence(entry) for entry in withheld.entries}
    return msgspec.structs.replace(
        document,
        reasons=tuple(Reason(one.cause, LEFT_OUT) if one.sentence in sentences else one for one in document.reasons),
        requirements=tuple(_row(row, withheld) for row in document.requirements),
        cells=tuple(after for cell in document.cells if (after := _cell(cell, withheld)) is not None),
        expectations=tuple(entry for entry in document.expectations if id(entry) not in hidden),
        deviations=tuple(one for one in document.deviations if not one.security or one.id in disclosed),
    )


def count_withheld(document: Verdicts, disclosed: Collection[str] = ()) -> int:
    """Return how many deviations `published` leaves out."""
    return sum(bool(one.security) and one.id not in disclosed for one in document.deviations)


def published_exploration(explored: Exploration, disclosed: Collection[str] = ()) -> tuple[Exploration, int]:
    """Return an exploration without what security deviations explain, except for those whose ids are `disclosed`, and
    how many deviations that leaves out. exploration.json holds everything."""
    hidden = [one for one in explored.listed if one.security and one.deviation not in disclosed]
    words = {f"{one.requirement}: {one.code}" for one in hidden}
    shown = msgspec.structs.replace(
        explored,
        listed=tuple(one for one in explored.listed if one not in hidden),
        found=tuple(
            msgspec.structs.replace(one, also=tuple(breach for breach in one.also if breach not in words))
            for one in explored.found
            if words.isdisjoint(one.known_by)
        ),
    )
    return shown, len({one.deviation for one in hidden})


def _row(row: RequirementVerdict, withheld: _Withheld) -> RequirementVerdict:
    findings = tuple(finding for finding in row.findings if not withheld.explains(finding))
    if len(findings) == len(row.findings):
        return row
    return msgspec.structs.replace(row, findings=findings, reason=row.reason if findings else LEFT_OUT)


def _cell(cell: Cell, withheld: _Withheld) -> Cell | None:
    findings = tuple(finding for finding in cell.findings if not withheld.explains(finding))
    if len(findings) == len(cell.findings):
        return cell
    if not findings:
        return None
    listed = tuple(reason for reason in cell.listed if reason not in withheld.reasons())
    return msgspec.structs.replace(cell, findings=findings, listed=listed)
