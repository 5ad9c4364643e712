"""Two judged runs side by side: what means something else. Times, sentences and counts differ without meaning it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from assay_conformance.model.verdict import Verdict
from assay_reports.expectation_matching import Cell
from assay_reports.verdicts import Difference, Verdicts, differences


class CellDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement that came to something else in a Case that both runs judged."""

    requirement: str
    case: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.requirement} in {self.case}: {self.before} -> {self.after}"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """`circumstances` are what the runs were made of (client, version, broker, ...), where it differs. `unsteady`: what
    differs between the runs, and between the attempts of one of them as well, so that it says nothing of a change."""

    circumstances: tuple[Difference, ...]
    requirements: tuple[Difference, ...]
    cells: tuple[CellDifference, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    unsteady: tuple[CellDifference, ...] = ()

    @property
    def same(self) -> bool:
        """Return whether no verdict differs.

        Other circumstances, or Cases that only one run had, are no difference by themselves.
        """
        return not (self.requirements or self.cells)


def compare(before: Verdicts, after: Verdicts) -> Comparison:
    old, new = _cells(before), _cells(after)
    had, has = ({cell.case for cell in document.cells} for document in (before, after))
    both = had & has
    races = _unsteady(before) | _unsteady(after)
    differ = [
        CellDifference(requirement=key[0], case=key[1], before=old.get(key, _NOT), after=new.get(key, _NOT))
        for key in sorted({*old, *new})
        if key[1] in both and old.get(key, _NOT) != new.get(key, _NOT)
    ]
    steady = {one.requirement for one in differ if (one.requirement, one.case) not in races}
    racing = {requirement for requirement, _ in races}
    return Comparison(
        circumstances=tuple(_circumstances(before, after)),
        requirements=tuple(
            one
            for one in differences(before, after)
            if None not in (one.before, one.after) and (one.requirement in steady or one.requirement not in racing)
        ),
        cells=tuple(one for one in differ if (one.requirement, one.case) not in races),
        only_before=tuple(sorted(had - has)),
        only_after=tuple(sorted(has - had)),
        unsteady=tuple(one for one in differ if (one.requirement, one.case) in races),
    )


_NOT = "no finding"


def _unsteady(document: Verdicts) -> set[tuple[str, str]]:
    """Return what came and went within one run: a finding that not all attempts of its Case show."""
    return {
        (cell.requirement, cell.case)
        for cell in document.cells
        if any(
            {finding.attempt for finding in cell.findings if finding.code == code} < set(cell.attempts)
            for code in {finding.code for finding in cell.findings}
        )
    }


def _cells(document: Verdicts) -> Mapping[tuple[str, str], str]:
    # A requirement that a Case was not made for may be exercised in one run and not in another, by timing alone.
    return {
        (cell.requirement, cell.case): description
        for cell in document.cells
        if (description := _describe(cell)) != Verdict.PASS.value
    }


def _describe(cell: Cell) -> str:
    codes = ", ".join(sorted({finding.code for finding in cell.findings}))
    return f"{cell.verdict.value} ({codes})" if codes else cell.verdict.value


def _circumstances(before: Verdicts, after: Verdicts) -> Iterable[Difference]:
    for name, one, other in (
        ("agent", before.subject.agent, after.subject.agent),
        ("client", before.subject.client, after.subject.client),
        ("version", before.subject.version, after.subject.version),
        ("broker", before.broker, after.broker),
        ("suite", before.suite, after.suite),
        ("catalogue", before.catalogue, after.catalogue),
    ):
        if one != other:
            yield Difference(name, one, other)
