"""The terminal itself: text stays text, lines end where their text ends, and ids break where their words do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

from assay_conformance.model.verdict import Verdict
from assay_reports.text import clean

PLAIN_WIDTH = 160
"""Columns where there is no terminal to ask: wide enough that nothing is folded in a log."""

LEAN: Mapping[str, Any] = {"show_edge": False, "pad_edge": False, "padding": (0, 1, 0, 0)}
"""Of a rich Table: nothing around it, two blanks between its columns."""


STYLE: dict[Verdict, str] = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.WARN: "yellow",
    Verdict.INFO: "cyan",
    Verdict.UNSUPPORTED: "dim",
    Verdict.UNAVAILABLE: "dim",
    Verdict.UNTESTABLE: "bold red",
    Verdict.INCONCLUSIVE: "magenta",
    Verdict.INVALID: "magenta",
    Verdict.HARNESS_ERROR: "bold magenta",
}


class _Terminal(Console):
    def on_broken_pipe(self) -> None:
        """Rich would end the process with 1, which says that a client failed."""
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Whoever prints, and whatever: what files and agents wrote reaches the terminal as visible text."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(clean(segment.text), segment.style)


def terminal(file: IO[str] | None = None, width: int | None = None) -> Console:
    """Return a console that treats text as text; without a terminal it writes `PLAIN_WIDTH` plain columns."""
    console = _Terminal(file=file, width=width, highlight=False, markup=False, emoji=False)
    if width is None and not console.is_terminal:
        console.width = PLAIN_WIDTH
    return console


class Trimmed:
    """What it holds, without the blanks that tables end their lines with."""

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self._content, options, pad=False):
            yield from _trimmed(line)
            yield Segment.line()


def _trimmed(line: list[Segment]) -> Iterator[Segment]:
    while line and not line[-1].text.strip():
        line = line[:-1]
    if line:
        yield from line[:-1]
        yield Segment(line[-1].text.rstrip(), line[-1].style)


_WORDS = re.compile(r"[^-./]+[-./]?|[-./]")


def folded(id: str, width: int) -> str:
    """Return an id on as many lines as it needs, broken after its dots, dashes and slashes; a longer word stays
    whole."""
    lines = [""]
    for word in _WORDS.findall(id):
        if lines[-1] and len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += word
    return "\n".join(lines)
