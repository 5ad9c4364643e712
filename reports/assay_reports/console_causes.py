"""The terminal's report where much failed, as in the first run of a client: a few lines for each cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Console, Group
from rich.text import Text

from assay_conformance.model.requirement import Side
from assay_conformance.model.verdict import Verdict
from assay_reports.causes import Cause, Kind, causes
from assay_reports.report import Failure, Report
from assay_reports.terminal import STYLE
from assay_reports.text import clean, counted, one_line

_MOST_ALSO = 6
"""Further failures of a cause that are named."""


def print_causes(report: Report, console: Console) -> None:
    """Print a line for each chapter, then each cause: the client's first, and those first that show in most Cases."""
    for title, rows in report.chapters():
        console.print(Group(_one_line(Text(clean(f"{title}: {_counts(row.verdict for row in rows)}")))))
    console.print()
    found = causes(report.failures)
    of_client = [cause for cause in found if cause.first.requirement.side is not Side.BROKER]
    of_broker = [cause for cause in found if cause.first.requirement.side is Side.BROKER]
    for cause in of_client:
        _print_cause(cause, report, console)
    if of_broker:
        console.print(Text(f"Of the broker, {clean(report.verdicts.broker)}:\n", style="bold"))
    for cause in of_broker:
        _print_cause(cause, report, console)
    failed = {failure.cell.case for cause in found for failure in cause.failures}
    console.print(
        Text(
            f"{counted(len(failed), 'Case')} failed, told by what fails together: probably "
            f"{counted(len(found), 'cause')}. The page has every failure with its clause and its events.\n",
            style="bold",
        )
    )


def _print_cause(cause: Cause, report: Report, console: Console) -> None:
    console.print(Group(*map(_one_line, _of_cause(cause))))
    print_command(cause.first, report, console)
    console.print()


def _of_cause(cause: Cause) -> Iterator[Text]:
    (kind, *others), first = cause.kinds, cause.first
    what = f"{first.requirement.id}: {kind.code}" if first.finding else _requirements(cause)
    yield Text.assemble(
        (first.cell.verdict.value, STYLE[first.cell.verdict]),
        "  ",
        (clean(what), "bold"),
        f"  in {counted(len(cause.cases), 'Case')}",
    )
    yield Text(f"  {one_line(first.sentence)}")
    if others:
        named = [_named(other) for other in others[:_MOST_ALSO]]
        more = f" and {len(others) - _MOST_ALSO} more" if len(others) > _MOST_ALSO else ""
        yield Text(clean(f"  breaks as well: {', '.join(named)}{more}"))
    names = sorted(cause.cases, key=lambda case: (len(case), case))
    yield Text(clean(f"  {', '.join(names)}"), style="dim")


def _requirements(cause: Cause) -> str:
    ids = sorted({failure.requirement.id for failure in cause.failures})
    return ids[0] if len(ids) == 1 else f"{ids[0]} and {counted(len(ids) - 1, 'other requirement')}"


def _named(kind: Kind) -> str:
    return f"{kind.requirement}: {kind.code}" if kind.requirement else kind.code


def _counts(verdicts: Iterator[Verdict]) -> str:
    return ", ".join(f"{count} {verdict.value}" for verdict, count in Counter(verdicts).most_common())


def _one_line(text: Text) -> Text:
    """Cut at the edge of the terminal: it stands in full on the page."""
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def print_command(failure: Failure, report: Report, console: Console) -> None:
    """Print what to type to see it again, on one line however long that is: whoever wants it copies it."""
    if failure.replay:
        command = clean(failure.replay_command(report.folder))
        # In a group: a text alone is printed folded.
        console.print(Group(Text(f"  {command}", style="bold", no_wrap=True, overflow="ignore")), crop=False)
