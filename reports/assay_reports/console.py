"""The terminal's report: chapters, requirements, what fails and how to see it again, and where the rest lies.

Everything is built from `rich.text.Text`, never from markup strings: texts of agents and wires stay text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay_conformance.model.requirement import Side
from assay_conformance.model.verdict import VOID, Expected, RequirementVerdict, Verdict
from assay_reports.causes import alike, are_many
from assay_reports.console_causes import print_causes, print_command
from assay_reports.impact import Impact, impact_words
from assay_reports.outcome import WORDS
from assay_reports.report import Failure, Report
from assay_reports.terminal import LEAN, STYLE, Trimmed, folded
from assay_reports.text import clean, counted, ms, one_line
from assay_reports.verdicts import counts, not_judged, shown

STATE_WORDS: dict[Expected, tuple[str, str]] = {
    Expected.NOT_LISTED: ("", ""),
    Expected.EXPECTED_FAIL: ("listed", "dim"),
    Expected.UNEXPECTED: ("not listed", "bold red"),
    Expected.STALE: ("stale", "bold red"),
    Expected.EXPIRED: ("expired", "bold red"),
    Expected.TOLERATED: ("listed, stayed away", "dim"),
}
"""How a row stands to the expectations file: word and style."""

_VERDICT, _SEEN, _CASES, _EXPECTATION, _GAP = 14, 6, 5, 11, 2
_FIXED = _VERDICT + _SEEN + _CASES + _EXPECTATION + 4 * _GAP
"""Columns of a table that are as wide in every terminal."""

_TITLE_AT_LEAST = 24
_CASES_FROM = 64
"""Columns of the terminal from which the last two of a table are worth their room."""


_MOST_WORDS = 200
_MOST_OF_NAMES = 140
"""Characters of what an application may meet, and of the profiles that are claimed: with what stands beside them two
lines of a terminal."""

_MOST_IMPACTS = 5
_MOST_REASONS = 5
_MOST_LEFT_OUT = 4
_MOST_NOT_JUDGED = 2
"""Impacts, reasons of an exit code, reasons why Cases were left out, and requirements that were not always judged: the
summary fits on one screen, which is `SCREEN`."""

SCREEN = (120, 40)
"""Columns and lines of a terminal in which the summary is read as a whole."""


def print_report(report: Report, console: Console) -> None:
    """Print the tables, the failures that were not expected, and the summary.

    The summary comes last, since the end is what stays on the screen. Where many Cases fail, as in the first run of a
    client, each chapter and each cause gets a line or a few: the page has the rest.
    """
    if are_many(report.failures):
        print_causes(report, console)
    else:
        for title, rows in report.chapters():
            console.print(Trimmed(_chapter(title, rows, report, console.width)))
        console.print()
        groups = alike(report.failures)
        of_client = [group for group in groups if group[0].requirement.side is not Side.BROKER]
        of_broker = [group for group in groups if group[0].requirement.side is Side.BROKER]
        _print_in_full(of_client, report, console)
        if of_broker:
            console.print(Trimmed(Text(f"Of the broker, {clean(report.verdicts.broker)}:\n", style="bold")))
        _print_in_full(of_broker, report, console)
    console.print(summary(report), crop=False)


def _print_in_full(groups: Iterable[list[Failure]], report: Report, console: Console) -> None:
    for group in groups:
        console.print(Trimmed(failure_text(group[0], also=group[1:])))
        print_command(group[0], report, console)
        console.print()


def _chapter(title: str, rows: Iterable[RequirementVerdict], report: Report, width: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=Text(f"\n{title}", style="bold"), title_justify="left", **LEAN)
    ids, titles = _widths(report, width)
    table.add_column("requirement", width=ids)
    if titles:
        table.add_column("", width=titles, style="dim")
    table.add_column("verdict", width=_VERDICT)
    table.add_column("seen", justify="right", width=_SEEN)
    if width >= _CASES_FROM:
        table.add_column("Cases", justify="right", width=_CASES)
        table.add_column("expectation", width=_EXPECTATION)
    for row in rows:
        state, state_style = STATE_WORDS[row.expected]
        cells = [Text(folded(clean(row.requirement), ids))]
        if titles:
            cells.append(Text(_title(row, report)))
        if times := _times_not_judged(row):
            cells[-1].append(f"\nnot judged {counted(times, 'time')}", style="magenta")
        if row.void and row.verdict not in VOID:
            cells[-1].append(f"\nvoid in {counted(sum(row.void.values()), 'Case')}", style="magenta")
        cells += [Text(shown(row), style=_style(row)), Text(str(row.exercised))]
        if width >= _CASES_FROM:
            cells += [Text(str(len(row.cases))), Text(state, style=state_style)]
        table.add_row(*cells)
    return table


def _widths(report: Report, width: int) -> tuple[int, int]:
    """Of ids and titles, 0 for no titles; the same in every chapter, so that all columns stand below each other."""
    rows = report.verdicts.requirements
    ids = max(len(row.requirement) for row in rows)
    room = width - _FIXED if width >= _CASES_FROM else width - _VERDICT - _SEEN - 2 * _GAP
    left = room - ids - 2 * _GAP
    if left < _TITLE_AT_LEAST:
        return max(min(ids, room - _GAP), 1), 0
    return ids, min(max(len(_title(row, report)) for row in rows), left)


def _title(row: RequirementVerdict, report: Report) -> str:
    requirement = report.catalogue.requirements[row.requirement]
    side = " (broker)" if requirement.side is Side.BROKER else ""
    return clean(requirement.title) + side


def _style(row: RequirementVerdict) -> str:
    return "yellow" if row.expected is Expected.EXPECTED_FAIL else STYLE[row.verdict]


def failure_text(failure: Failure, also: Sequence[Failure] = ()) -> RenderableType:
    """Render one failure: its clause, the contradicting events with their times, and the receipts of its faults.

    `also` are failures of the same kind in other Cases, which are named.
    """
    cell = failure.cell
    head = Text.assemble(
        (cell.verdict.value.upper(), STYLE[cell.verdict]),
        "  ",
        (clean(cell.requirement), "bold"),
        f" in {clean(cell.case)}",
    )
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in _facts(failure):
        grid.add_row(Text(name), value)
    if also:
        grid.add_row(Text("also in"), Text(clean(", ".join(other.cell.case for other in also))))
    return Group(head, Padding(grid, (0, 0, 0, 2)))


def _facts(failure: Failure) -> Iterator[tuple[str, Text]]:
    requirement = failure.requirement
    yield "clause", Text(f"{requirement.level.value}: {one_line(requirement.clause)}")
    yield "finding" if failure.finding else "reason", Text(clean(failure.sentence))
    if failure.finding:
        more = f", {failure.more} more like it" if failure.more else ""
        yield "code", Text(f"{clean(failure.finding.code)}, evidence {failure.finding.grade.value}{more}")
    if failure.finding and failure.finding.life:
        yield "life", Text("\n".join(clean(line) for line in failure.finding.life))
        yield "rows", Text(clean(failure.finding.rows))
    if failure.named:
        yield "events", Text("\n".join(f"{ms(row.t_ns):>12}  {row.lane.value:<6}  {row.text}" for row in failure.named))
    if failure.receipts:
        yield "faults", Text("\n".join(clean(receipt) for receipt in failure.receipts[:4]))


def summary(report: Report) -> RenderableType:
    """Render who was judged, what an application may meet, the counts, what was left out, the exit code with its
    reasons, and where everything lies. All of it fits on one screen."""
    document = report.verdicts
    subject = document.subject
    lines = [Text.assemble((clean(f"{subject.client} {subject.version}"), "bold"), clean(f" through {subject.agent}"))]
    if not subject.tested:
        lines.append(Text("This version is outside the range its expectations were tested with.", style="yellow"))
    lines += _meets(report)
    lines.append(Text(_counted(report)))
    if broker_side := counts(document.requirements, report.catalogue.requirements, broker_side=True):
        lines.append(Text("broker side, not counted for the client: " + _list(broker_side)))
    lines += _unjudged(report)
    lines += _profiles(report)
    if report.run.left_out:
        lines += _left_out(report)
    lines.append(_exit(document.exit_code))
    lines += [_one_line(f"  {one_line(reason.sentence)}") for reason in document.reasons[:_MOST_REASONS]]
    if (more := len(document.reasons) - _MOST_REASONS) > 0:
        lines.append(Text(f"  and {more} more, in verdicts.json and on the page"))
    # Never folded: whoever wants it copies it.
    places = [
        Text(clean(text), no_wrap=True, overflow="ignore")
        for text in (f"run   {report.folder}", f"page  {report.page}")
    ]
    return Group(Trimmed(Group(*lines)), *places)


def _unjudged(report: Report) -> list[Text]:
    """How often requirements were not judged and why, those first that it befell most often."""
    rows = sorted((row for row in report.verdicts.requirements if row.not_judged), key=_times_not_judged, reverse=True)
    lines = [f"{row.requirement}: {not_judged(row)[0]}" for row in rows[:_MOST_NOT_JUDGED]]
    if more := rows[_MOST_NOT_JUDGED:]:
        times = counted(sum(map(_times_not_judged, more)), "time")
        lines.append(f"{counted(len(more), 'other requirement')}: not judged {times}; the page says why")
    return [_one_line(one_line(line)) for line in lines]


def _times_not_judged(row: RequirementVerdict) -> int:
    return sum(row.not_judged.values())


def _profiles(report: Report) -> list[Text]:
    """Return what the certificate claims; why it claims no more stands in certificate.json."""
    if not report.claims:
        return []
    claimed = [claim.profile for claim in report.claims if claim.claimed]
    line = f"profiles claimed, {len(claimed)} of {len(report.claims)}: {_some(claimed) or 'none'}"
    why = "; certificate.json says why not the others" if len(claimed) < len(report.claims) else ""
    return [Text(clean(line + why))]


def _some(names: Sequence[str]) -> str:
    """As many of the names as `_MOST_OF_NAMES` hold, and how many more there are."""
    ends = list(accumulate(len(name) + len(", ") for name in names))
    shown = max(bisect_right(ends, _MOST_OF_NAMES), 1)
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")


def _counted(report: Report) -> str:
    document = report.verdicts
    line = _list(counts(document.requirements, report.catalogue.requirements)) or "no requirement judged"
    # As many as were announced: of a Case whose every requirement is unsupported nothing was run.
    cases = len({cell.case for cell in document.cells if cell.verdict is not Verdict.UNSUPPORTED})
    ended = report.run.ended_unix_ms
    took = f" in {(ended - report.run.started_unix_ms) / 1000:.1f} s" if ended else ""
    return f"{line} · {counted(cases, 'Case')}{took}"


def _list(found: dict[str, int]) -> str:
    return ", ".join(f"{count} {words}" for words, count in found.items())


def _left_out(report: Report) -> list[Text]:
    """How many Cases for each reason, which names the option that brings them; their names stand on the page."""
    by_reason = Counter(left.reason for left in report.run.left_out).most_common()
    lines = [f"left out: {counted(count, 'Case')}: {reason}" for reason, count in by_reason[:_MOST_LEFT_OUT]]
    if more := by_reason[_MOST_LEFT_OUT:]:
        cases = counted(sum(count for _, count in more), "Case")
        lines.append(f"left out: {cases} for {counted(len(more), 'other reason')}; the page has them all")
    return [_one_line(one_line(line)) for line in lines]


def _meets(report: Report) -> list[Text]:
    """Of each of the worst impacts how many listed deviations have it, and what one of them does to an application."""
    listed = [one for one in report.verdicts.deviations if not one.broker]
    by_impact = [(impact, [one for one in listed if one.impact is impact]) for impact in (None, *Impact)]
    found = [(impact, group) for impact, group in by_impact if group]
    lines = []
    if found:
        lines.append(Text("what your application may meet, worst first:", style="bold"))
    for impact, group in found[:_MOST_IMPACTS]:
        count = Text(f"  {impact_words(impact)} ({len(group)}): ", style="bold")
        lines.append(Text.assemble(count, one_line(group[0].effect or group[0].title, _MOST_WORDS)))
    if more := found[_MOST_IMPACTS:]:
        lines.append(Text("  and " + ", ".join(f"{impact_words(impact)} ({len(group)})" for impact, group in more)))
    if report.withheld:
        lines.append(
            Text(f"  {counted(report.withheld, 'deviation')} with consequences for security not shown: --disclose ID")
        )
    return lines


def _one_line(text: str) -> Text:
    """Cut at the edge of the terminal: it stands in full on the page."""
    return Text(text, no_wrap=True, overflow="ellipsis")


def _exit(code: int) -> Text:
    style = "bold green" if code == 0 else "bold red" if code in (1, 4) else "bold magenta"
    return Text(f"exit {code}: {WORDS[code]}", style=style)
