"""What a run's rows were counted as, in units of time: rates, what was behind, what came again."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from assay_conformance.ledger.collection import Counted, Small, Sums
from assay_reports.plots.canvas import Band, Line, Plot, Scale, short, top_of, x_ticks, y_of, y_ticks

_MOST_POINTS = 480
_MOST_LINES = 6

Series = Mapping[str, Sequence[float]]
"""Name -> a value for each unit of time."""


def plots_of_counts(sums: Sums, small: Small, scale: Scale, bands: tuple[Band, ...]) -> tuple[Plot | None, ...]:
    return (
        _plot("Messages a second", "messages/s", _rates(sums, scale), scale, bands),
        _plot("Behind", "messages", _lag(sums, small, scale), scale, bands),
        _plot("Delivered again, or refused", "messages/s", _again(sums, small, scale), scale, bands),
    )


def _counts(sums: Sums, scale: Scale, wanted: Iterable[Counted]) -> dict[tuple[Counted, int], list[float]]:
    what = frozenset(wanted)
    found: dict[tuple[Counted, int], list[float]] = defaultdict(lambda: [0.0] * (scale.last - scale.first))
    for one in sums.series:
        if one.what in what:
            found[one.what, one.of][one.second - scale.first] += one.n
    return found


def _rates(sums: Sums, scale: Scale) -> Series:
    named = {Counted.SENT: "sent", Counted.STORED: "reported as stored", Counted.FIRST: "delivered"}
    totals: dict[str, list[float]] = {}
    for (what, _), values in sorted(_counts(sums, scale, named).items()):
        _add(totals.setdefault(named[what], [0.0] * len(values)), values, 1 / scale.unit_s)
    return {name: totals[name] for name in named.values() if name in totals}


def _lag(sums: Sums, small: Small, scale: Scale) -> Series:
    """Of each subscription: messages reported as stored on its topics, and not delivered yet."""
    counts = _counts(sums, scale, (Counted.STORED, Counted.FIRST))
    found = {}
    for sub in list(small.subscriptions.values())[:_MOST_LINES]:
        topics = sub.topics.split()
        missing = [0.0] * (scale.last - scale.first)
        for (what, of), values in counts.items():
            if what is Counted.STORED and (not topics or str(of) in topics):
                _add(missing, values, 1)
        _add(missing, counts.get((Counted.FIRST, sub.sub), ()), -1)
        found[sub.name] = [max(0.0, value) for value in accumulate(missing)]
    return found


def _again(sums: Sums, small: Small, scale: Scale) -> Series:
    found: dict[str, list[float]] = {}
    words = {Counted.AGAIN: "again", Counted.REFUSED: "refused"}
    for (what, sub), values in sorted(_counts(sums, scale, words).items()):
        name = small.subscriptions[sub].name if sub in small.subscriptions else str(sub)
        found[f"{name}, {words[what]}"] = [value / scale.unit_s for value in values]
    return dict(list(found.items())[:_MOST_LINES])


def _add(into: list[float], values: Iterable[float], factor: float) -> None:
    for place, value in enumerate(values):
        into[place] += value * factor


def _plot(title: str, unit: str, series: Series, scale: Scale, bands: tuple[Band, ...]) -> Plot | None:
    most = max((max(values) for values in series.values()), default=0.0)
    if not most:
        return None
    top = top_of(most)
    lines = tuple(
        Line(name, number, _points(values, scale, top)) for number, (name, values) in enumerate(series.items())
    )
    said = "; ".join(f"{name} at most {short(max(values))} {unit}" for name, values in series.items())
    return Plot(title, unit, lines, x_ticks(scale), y_ticks(top), bands, said)


def _points(values: Sequence[float], scale: Scale, top: float) -> str:
    """Least and greatest of each stretch, so that no spike is lost where units are narrower than the line."""
    width = max(1, math.ceil(2 * len(values) / _MOST_POINTS))
    points = []
    for begin in range(0, len(values), width):
        piece = values[begin : begin + width]
        ends = {begin + piece.index(min(piece)), begin + piece.index(max(piece))} if width > 1 else {begin}
        points += [f"{scale.x(scale.first + place + 0.5)},{y_of(values[place], top)}" for place in sorted(ends)]
    return " ".join(points)
