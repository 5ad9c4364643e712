"""The timeline of one Case in the terminal: what client, wire, broker and bench saw, and the faults in force."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay_conformance.model.case import Case
from assay_conformance.model.event import Event
from assay_conformance.model.fault import Direction
from assay_reports.describe import Lane, receipts
from assay_reports.expectation_matching import Cell
from assay_reports.terminal import LEAN, Trimmed
from assay_reports.text import clean, counted, ms
from assay_reports.timeline import Band, Row, Timeline, timeline
from assay_reports.verdicts import not_judged, shown

_LANE_STYLE: dict[Lane, str] = {
    Lane.CLIENT: "cyan",
    Lane.WIRE: "",
    Lane.BROKER: "green",
    Lane.BENCH: "yellow",
}
_TIME = 11
_ARROW: dict[Direction | None, str] = {None: "", Direction.TO_BROKER: "→ ", Direction.TO_CLIENT: "← "}
"""The client stands on the left."""


def print_story(
    console: Console, case: Case, attempt: int, events: Sequence[Event], cells: Iterable[Cell], limit: int
) -> None:
    """Print head, verdicts, the faults with their receipts, and the `limit` rows nearest to the findings."""
    cells = tuple(cells)
    _say(console, Text.assemble((clean(case.id), "bold"), f"  {clean(case.title)}, attempt {attempt}"))
    named: set[int] = set()
    for cell in cells:
        _say(console, Text(f"{shown(cell)}  {clean(cell.requirement)}"))
        for sentence in not_judged(cell):
            _say(console, Text(f"    {clean(sentence)}"))
        for finding in cell.findings:
            if finding.attempt == attempt:
                named.update(finding.events)
                _say(console, Text(f"    {clean(finding.code)}: {clean(finding.sentence)}"))
    for receipt in receipts(events, case):
        _say(console, Text(f"fault  {clean(receipt)}"))
    console.print()
    _print_rows(console, timeline(events, named, case, limit))


def _say(console: Console, text: Text) -> None:
    console.print(Trimmed(text))


def _print_rows(console: Console, story: Timeline) -> None:
    table = Table(box=None, show_header=False, **LEAN)
    table.add_column(width=1)
    table.add_column(justify="right", width=_TIME)
    if story.bands:
        table.add_column(width=len(story.bands), style="yellow")
    table.add_column(width=6)
    table.add_column(overflow="fold")
    for cells in _lines(story):
        table.add_row(*cells)
    console.print(Trimmed(table))
    for band, letter in zip(story.bands, _letters(story), strict=True):
        _say(console, Text(f"{letter}  in force: {clean(band.text)}", style="yellow"))
    if story.left_out:
        _say(console, Text(f"{counted(story.left_out, 'event')} more; --limit shows more of them", style="dim"))


def _lines(story: Timeline) -> Iterator[list[Text]]:
    for index, row in enumerate(story.rows):
        if row.skipped:
            yield _line(story, index, "", "", Text(f"{counted(row.skipped, 'event')} left out", style="dim"))
        text = f"{_ARROW[row.direction]}{clean(row.text)}"
        yield _line(story, index, "▶" if row.named else "", ms(row.t_ns), Text(text, style=_style(row)), row)


def _line(story: Timeline, index: int, mark: str, time: str, what: Text, row: Row | None = None) -> list[Text]:
    gutter = "".join(
        letter if _covers(band, index) else " " for band, letter in zip(story.bands, _letters(story), strict=True)
    )
    lane = Text(row.lane.value, style=_LANE_STYLE[row.lane]) if row else Text()
    return [Text(mark, style="bold red"), Text(time), *([Text(gutter)] if story.bands else []), lane, what]


def _covers(band: Band, index: int) -> bool:
    return band.first <= index <= band.last


def _letters(story: Timeline) -> list[str]:
    """One for each stretch of a fault; after `z` they repeat."""
    return [chr(ord("a") + number % 26) for number in range(len(story.bands))]


def _style(row: Row) -> str:
    if row.named:
        return "bold"
    return "red" if row.lost else "yellow" if row.turn is not None else ""
