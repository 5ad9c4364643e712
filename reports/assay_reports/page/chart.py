"""Where everything of a timeline's sequence chart goes: rows and bands in, coordinates out; the template draws them.

Time runs down. The client's words stand left of its lifeline, the broker's right of its own, frames are arrows between
the two, and what the bench did is written across. A fault in force tints the rows it covers and has a numbered bar at
the right edge.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assay_conformance.model.event import Sides
from assay_conformance.model.fault import Direction
from assay_reports.describe import Lane
from assay_reports.text import clean, counted, ms
from assay_reports.timeline import Band, Row, Timeline

WIDTH = 1080
TIME_X = 74
CLIENT_X = 352
BROKER_X = 734
BARS_X = 1016
BAR_STEP = 20

_HEAD = 40
_ROW = 27
_LINE = 15
_GAP = 22
_FOOT = 14
_MOST_LINES = 2

LONG_MS = 200
"""From this on, time in which nothing happened is written between two rows: evenly spaced, they would hide it."""

_CHARS: dict[Lane, int] = {Lane.CLIENT: 34, Lane.WIRE: 58, Lane.BROKER: 42, Lane.BENCH: 58}
"""Characters a lane holds in a line of 12 px text."""

_TEXT_X: dict[Lane, tuple[float, str]] = {
    Lane.CLIENT: (CLIENT_X - 14, "end"),
    Lane.WIRE: ((CLIENT_X + BROKER_X) / 2, "middle"),
    Lane.BROKER: (BROKER_X + 14, "start"),
    Lane.BENCH: ((CLIENT_X + BROKER_X) / 2, "middle"),
}


@dataclass(frozen=True, slots=True)
class Arrow:
    """A frame's way from `x1` to `x2`; `head` is False where it did not arrive, `start` where it left the link late."""

    x1: float
    x2: float
    y: float
    head: bool
    lost: bool
    late: bool

    @property
    def tip(self) -> str:
        """Return the three points of the arrow's head, as SVG has them."""
        back = self.x2 - 8 if self.x2 > self.x1 else self.x2 + 8
        return f"{self.x2},{self.y} {back},{self.y - 4} {back},{self.y + 4}"


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """`number` counts the finding's events from 1; None for their neighbours. `y` is the row's middle."""

    row: Row
    time: str
    top: float
    height: float
    lines: tuple[tuple[float, str], ...]
    text_x: float
    anchor: str
    dot_x: float | None
    number: int | None
    arrow: Arrow | None

    @property
    def y(self) -> float:
        return self.top + self.height / 2


@dataclass(frozen=True, slots=True)
class Gap:
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class DrawnBand:
    band: Band
    x: float
    top: float
    height: float
    open: bool

    @property
    def label(self) -> str:
        return f"F{self.band.fault}"


@dataclass(frozen=True, slots=True)
class Chart:
    height: float
    rows: tuple[DrawnRow, ...]
    gaps: tuple[Gap, ...]
    bands: tuple[DrawnBand, ...]


def chart(story: Timeline) -> Chart:
    """Return the drawing of a timeline."""
    rows: list[DrawnRow] = []
    gaps: list[Gap] = []
    y: float = _HEAD
    number = 0
    for above, row in zip((None, *story.rows), story.rows, strict=False):
        if text := _between(above, row):
            gaps.append(Gap(y + _GAP / 2, text))
            y += _GAP
        number += row.named
        drawn = _row(row, y, number if row.named else None)
        rows.append(drawn)
        y += drawn.height
    if story.left_out:
        gaps.append(Gap(y + _GAP / 2, _more(story.left_out)))
        y += _GAP
    return Chart(y + _FOOT, tuple(rows), tuple(gaps), tuple(_bands(story.bands, rows)))


def _between(above: Row | None, row: Row) -> str:
    """Return what lies between two rows: events that are not shown, and a long time."""
    passed_ms = (row.t_ns - above.t_ns) / 1e6 if above else 0.0
    parts = [_more(row.skipped)] if row.skipped else []
    parts += [f"{passed_ms:.0f} ms later"] if passed_ms >= LONG_MS else []
    return ", ".join(parts)


def _more(count: int) -> str:
    return counted(count, "more event")


def _row(row: Row, top: float, number: int | None) -> DrawnRow:
    wrapped = textwrap.wrap(clean(row.text), _CHARS[row.lane], max_lines=_MOST_LINES, placeholder=" …") or [""]
    arrow_room = 8 if row.direction else 0
    height = _ROW + _LINE * (len(wrapped) - 1) + arrow_room
    first = top + (height - arrow_room - _LINE * (len(wrapped) - 1)) / 2 + 4
    text_x, anchor = _TEXT_X[row.lane]
    return DrawnRow(
        row=row,
        time=ms(row.t_ns),
        top=top,
        height=height,
        lines=tuple((first + _LINE * index, line) for index, line in enumerate(wrapped)),
        text_x=text_x,
        anchor=anchor,
        dot_x={Lane.CLIENT: float(CLIENT_X), Lane.BROKER: float(BROKER_X)}.get(row.lane),
        number=number,
        arrow=_arrow(row, top + height - 6) if row.direction else None,
    )


def _arrow(row: Row, y: float) -> Arrow:
    """Whole where both sides carried the frame; half where only its sender, or only its receiver, did."""
    start, end = (CLIENT_X, BROKER_X) if row.direction is Direction.TO_BROKER else (BROKER_X, CLIENT_X)
    middle = (start + end) / 2
    return Arrow(
        x1=middle if row.sides is Sides.RECEIVER else start,
        x2=middle if row.sides is Sides.SENDER else end,
        y=y,
        head=row.sides is not Sides.SENDER,
        lost=row.lost,
        late=row.sides is Sides.RECEIVER,
    )


def _bands(bands: Iterable[Band], rows: list[DrawnRow]) -> Iterator[DrawnBand]:
    for index, band in enumerate(bands):
        first, last = rows[band.first], rows[band.last]
        yield DrawnBand(
            band=band,
            x=BARS_X + (index % 3) * BAR_STEP,
            top=first.top,
            height=last.top + last.height - first.top,
            open=band.end_ns is None,
        )
