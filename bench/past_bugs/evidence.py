"""What a version of the client did in a certification: the verdict of each requirement in each Case, and the codes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import msgspec
from bench.judged_by import UNKNOWN

from assay_conformance.model.verdict import Verdict
from assay_reports.expectation_matching import Cell
from assay_reports.verdicts import read_verdicts

FOLDER: Final = Path(__file__).parents[2] / "fixtures" / "golden" / "past_bugs"
"""What the page is made from."""

BROKEN: Final = frozenset({Verdict.FAIL, Verdict.WARN, Verdict.UNTESTABLE})
"""A declared capability whose precondition cannot be reached counts as failed."""


class Seen(msgspec.Struct, frozen=True, omit_defaults=True):
    """One requirement in one Case."""

    verdict: Verdict
    codes: tuple[str, ...] = ()


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """`cells`: requirement -> Case -> what came of it; `catalogues`: the revisions that its runs were
    judged by."""

    version: str
    catalogues: tuple[str, ...] = UNKNOWN
    cells: dict[str, dict[str, Seen]]


def evidence(runs: Iterable[Path], requirements: Collection[str]) -> Evidence:
    """Return the evidence in folders that `assay certify` made of one version; listed failures count too.

    What any run broke is broken; what a run kept and none broke is kept.
    """
    cells: dict[str, dict[str, Seen]] = {}
    version, catalogues = "", set[str]()
    for run in runs:
        file = run / "verdicts.json"
        told = read_verdicts(file.read_bytes(), str(file))
        version = told.subject.version
        catalogues.add(told.catalogue)
        for cell in told.cells:
            if cell.requirement in requirements:
                of_requirement = cells.setdefault(str(cell.requirement), {})
                of_requirement[cell.case] = _worse(of_requirement.get(cell.case), _seen(cell))
    return Evidence(version=version, catalogues=tuple(sorted(catalogues)), cells=cells)


def _seen(cell: Cell) -> Seen:
    codes = tuple(sorted({finding.code for finding in cell.findings})) if cell.verdict in BROKEN else ()
    return Seen(cell.verdict, codes or ((cell.verdict.value,) if cell.verdict in BROKEN else ()))


def _worse(before: Seen | None, now: Seen) -> Seen:
    if before is None:
        return now
    decided = [seen for seen in (before, now) if seen.verdict in BROKEN] or [
        seen for seen in (before, now) if seen.verdict is Verdict.PASS
    ]
    return decided[0] if decided else now


def keep(found: Evidence) -> None:
    """Store the evidence where the page finds it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(found, order="sorted"), indent=1)
    (FOLDER / f"{found.version}.json").write_bytes(text + b"\n")


def kept() -> dict[str, Evidence]:
    """Return the stored evidence by version."""
    found = (msgspec.json.decode(path.read_bytes(), type=Evidence) for path in sorted(FOLDER.glob("*.json")))
    return {one.version: one for one in found}
