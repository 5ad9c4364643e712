"""What every writer (terminal, JUnit, page) is given: a judged run, and each of its failures in full, once."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from assay_conformance.catalogue import Catalogue
from assay_conformance.model.case import Case
from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import Event
from assay_conformance.model.requirement import Requirement
from assay_conformance.model.run import RunInfo
from assay_conformance.model.verdict import WORST_FIRST, Expected, Finding, RequirementVerdict, Verdict
from assay_reports.certificate import Claim
from assay_reports.describe import receipts
from assay_reports.expectation_matching import Cell, EntryState
from assay_reports.expectations import Expectation
from assay_reports.plots import Plot
from assay_reports.published import count_withheld, published
from assay_reports.timeline import EMPTY, Row, Timeline, timeline
from assay_reports.verdicts import Verdicts

Events = Callable[[str, int], Iterable[Event]]
"""(Case id, attempt) -> the events of its history."""

REPORTED = frozenset(
    {Verdict.FAIL, Verdict.UNTESTABLE, Verdict.WARN, Verdict.INVALID, Verdict.INCONCLUSIVE, Verdict.HARNESS_ERROR}
)
"""Verdicts of a cell that a person wants the story of."""


@dataclass(frozen=True)
class Report:
    """`folder` is the run folder as the user typed it, for the terminal alone: files name the run by its id.

    So they stay the same wherever the folder is moved. `replays` maps Case ids to their replay files inside the folder;
    `claims` are those of the certificate.
    """

    run: RunInfo
    catalogue: Catalogue
    verdicts: Verdicts
    cases: Mapping[str, Case]
    folder: str
    events: Events
    replays: Mapping[str, str]
    claims: Sequence[Claim] = ()
    again: str = ""
    """What to type to have a ledger judged again; of a run, `assay check`."""
    plots: Sequence[Plot] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    """What else had a part in the run of a ledger, by its name."""
    disclosed: Collection[str] = ()
    """Ids of the security deviations that are not left out of what is published."""
    withheld: int = 0
    """How many were left out."""
    agent: str = ""
    """The path of the agent, as the user typed it, where its id names no installed one."""

    @cached_property
    def public(self) -> Report:
        """Return the report without what must not be published."""
        withheld = count_withheld(self.verdicts, self.disclosed)
        return replace(self, verdicts=published(self.verdicts, self.disclosed), withheld=withheld)

    @property
    def page(self) -> str:
        return f"{self.folder}/report.html"

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """Return what has to be reported, one failure for each code of a cell: unexpected ones first, then the worst.

        It is read once for all writers.
        """
        cells = [cell for cell in self.verdicts.cells if cell.verdict in REPORTED]
        cells.sort(key=lambda cell: (cell.expected is Expected.EXPECTED_FAIL, WORST_FIRST.index(cell.verdict)))
        return tuple(failure for cell in cells for failure in _of_cell(self, cell))

    def wall_s(self, cell: Cell) -> float:
        """Return how many seconds the cell's Case took, to the millisecond; 0 without a history."""
        return self._attempt_s(cell.case, cell.attempts[-1])

    @cached_property
    def _attempt_s(self) -> Callable[[str, int], float]:
        """Read once for all cells of a Case."""
        return cache(self._read_attempt_s)

    def _read_attempt_s(self, case: str, attempt: int) -> float:
        try:
            last = deque(self.events(case, attempt), maxlen=1)
        except UsageError:
            return 0.0
        return round(last[0].t_ns / 1e9, 3) if last else 0.0

    def chapters(self) -> Iterator[tuple[str, tuple[RequirementVerdict, ...]]]:
        """Yield (title, rows) of every chapter that was judged; chapters and rows are in catalogue order."""
        order = {requirement: index for index, requirement in enumerate(self.catalogue.requirements)}
        rows = sorted(self.verdicts.requirements, key=lambda row: order[row.requirement])
        names = dict.fromkeys([*self.catalogue.chapters, *(row.requirement.partition(".")[0] for row in rows)])
        for name in names:
            found = tuple(row for row in rows if row.requirement.partition(".")[0] == name)
            if found:
                yield self.catalogue.chapters.get(name, name), found


@dataclass(frozen=True, slots=True)
class Failure:
    """One breach in one Case. Without a `finding` nothing was proven, and `sentence` is the reason."""

    requirement: Requirement
    cell: Cell
    sentence: str
    run: str
    replay: str
    agent: str = ""
    """As in the report."""
    finding: Finding | None = None
    story: Timeline = EMPTY
    receipts: tuple[str, ...] = ()
    more: int = 0
    """Further findings of the same code in this Case."""
    others: tuple[Finding, ...] = ()
    """Those of them that tell their own story, as findings in ledgers do."""
    listed: tuple[Expectation, ...] = ()
    """The entries that name exactly this."""

    def replay_command(self, folder: str = "") -> str:
        """Return what to type to see it again, from beside the run's folder, or with `folder` before it; empty if there
        is no replay file."""
        return replay_command(f"{folder or self.run}/{self.replay}", self.agent) if self.replay else ""

    @property
    def named(self) -> tuple[Row, ...]:
        """Return the rows of the contradicting events."""
        return tuple(row for row in self.story.rows if row.named)

    @property
    def expected(self) -> bool:
        return self.cell.expected is Expected.EXPECTED_FAIL


def replay_command(file: str, agent: str = "") -> str:
    """Return what to type to run a replay file; with the path of an `agent` that has no name here."""
    return shlex.join(["assay", "replay", file, *(["--agent", agent] if agent else [])])


def _of_cell(report: Report, cell: Cell) -> Iterator[Failure]:
    requirement = report.catalogue.requirements[cell.requirement]
    case = report.cases[cell.case]
    replay = report.replays.get(cell.case, "")
    if not cell.findings:
        yield Failure(requirement, cell, cell.reason, report.run.run, replay, report.agent)
    by_code: dict[str, list[Finding]] = {}
    for finding in cell.findings:
        by_code.setdefault(finding.code, []).append(finding)
    for group in by_code.values():
        first = group[0]
        events = list(report.events(cell.case, first.attempt))
        listed = (entry.expectation for entry in report.verdicts.expectations if entry.state in _NAMES_WHAT_HAPPENED)
        yield Failure(
            requirement,
            cell,
            first.sentence,
            report.run.run,
            replay,
            report.agent,
            finding=first,
            story=timeline(events, first.events, case),
            receipts=receipts(events, case),
            more=len(group) - 1,
            others=tuple(finding for finding in group[1:] if finding.life),
            listed=tuple(one for one in listed if (one.requirement, one.case, one.code) == _key(first)),
        )


_NAMES_WHAT_HAPPENED = frozenset({EntryState.MATCHED, EntryState.EXPIRED})


def _key(finding: Finding) -> tuple[str, str, str]:
    return (finding.requirement, finding.case, finding.code)
