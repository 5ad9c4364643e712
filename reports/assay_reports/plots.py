"""How a run went, drawn for people: rates, what was behind, what came again, how long it took; faults as bands.

Rows in, coordinates out, as `page.chart` does it for timelines; the template draws them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from assay_conformance.ledger.collection import US_PER_S, Counted, Small, Sums
from assay_conformance.ledger.spans import Spans

WIDTH = 1080
LEFT, RIGHT, TOP, BOTTOM = 74, 1064, 26, 196
HEIGHT = 232

_MOST_POINTS = 480
_X_TICKS, _Y_TICKS = 8, 4
_MOST_LINES = 6
_STEPS = (1, 2, 5)
_LEAST_BAND = 5.0
"""Pixels: what acted for a moment in a run of hours is seen."""
_LEAST_MS = 0.001
_QUANTILES = (("half", "p50_us"), ("99 %", "p99_us"), ("all", "most_us"))


@dataclass(frozen=True, slots=True)
class Line:
    """`points` as SVG wants them; `number` chooses the colour."""

    name: str
    number: int
    points: str


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Band:
    """A time in which a fault acted."""

    x: float
    width: float
    text: str


@dataclass(frozen=True, slots=True)
class Plot:
    title: str
    unit: str
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    bands: tuple[Band, ...]
    said: str
    """What it shows, in a sentence."""


@dataclass(frozen=True, slots=True)
class _Scale:
    first: int
    last: int
    unit_s: float

    def x(self, unit: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (unit - self.first) / max(1, self.last - self.first), 1)


def plots(sums: Sums, small: Small) -> tuple[Plot, ...]:
    """Of a run with times; none of a run that was over in a moment."""
    units = [one.second for one in sums.series]
    if not units or max(units) == min(units):
        return ()
    scale = _Scale(min(units), max(units) + 1, sums.unit_us / US_PER_S)
    bands = tuple(_bands(small, scale, sums.unit_us))
    made = [
        _plot("Messages a second", "messages/s", _rates(sums, scale), scale, bands),
        _plot("Behind", "messages", _lag(sums, small, scale), scale, bands),
        _plot("Delivered again, or refused", "messages/s", _again(sums, small, scale), scale, bands),
        _latencies(sums, scale, bands),
        _latencies_of_windows(sums, small, scale, bands),
    ]
    return tuple(plot for plot in made if plot is not None)


Series = Mapping[str, Sequence[float]]
"""Name -> a value for each unit of time."""


def _counts(sums: Sums, scale: _Scale, wanted: Iterable[Counted]) -> dict[tuple[Counted, int], list[float]]:
    what = frozenset(wanted)
    found: dict[tuple[Counted, int], list[float]] = defaultdict(lambda: [0.0] * (scale.last - scale.first))
    for one in sums.series:
        if one.what in what:
            found[one.what, one.of][one.second - scale.first] += one.n
    return found


def _rates(sums: Sums, scale: _Scale) -> Series:
    named = {Counted.SENT: "sent", Counted.TOLD: "told to be stored", Counted.FIRST: "delivered"}
    totals: dict[str, list[float]] = {}
    for (what, _), values in sorted(_counts(sums, scale, named).items()):
        _add(totals.setdefault(named[what], [0.0] * len(values)), values, 1 / scale.unit_s)
    return {name: totals[name] for name in named.values() if name in totals}


def _lag(sums: Sums, small: Small, scale: _Scale) -> Series:
    """Of each subscription: messages told to be stored on its topics, and not delivered yet."""
    counts = _counts(sums, scale, (Counted.TOLD, Counted.FIRST))
    found = {}
    for sub in list(small.subscriptions.values())[:_MOST_LINES]:
        topics = sub.topics.split()
        told = [0.0] * (scale.last - scale.first)
        for (what, of), values in counts.items():
            if what is Counted.TOLD and (not topics or str(of) in topics):
                _add(told, values, 1)
        _add(told, counts.get((Counted.FIRST, sub.sub), ()), -1)
        found[sub.name] = [max(0.0, value) for value in accumulate(told)]
    return found


def _again(sums: Sums, small: Small, scale: _Scale) -> Series:
    found: dict[str, list[float]] = {}
    words = {Counted.AGAIN: "again", Counted.REFUSED: "refused"}
    for (what, sub), values in sorted(_counts(sums, scale, words).items()):
        name = small.subscriptions[sub].name if sub in small.subscriptions else str(sub)
        found[f"{name}, {words[what]}"] = [value / scale.unit_s for value in values]
    return dict(list(found.items())[:_MOST_LINES])


def _add(into: list[float], values: Iterable[float], factor: float) -> None:
    for place, value in enumerate(values):
        into[place] += value * factor


def _latencies(sums: Sums, scale: _Scale, bands: tuple[Band, ...]) -> Plot | None:
    """Quantiles over the run, as steps. Half of all and the slowest one are apart by powers of ten, so the axis is in
    such powers."""
    found = sums.spans
    if not found.told:
        return None
    decades = _decades(_ms(found, "p50_us"), _ms(found, "most_us"))
    lines = []
    for number, (name, of) in enumerate(_QUANTILES):
        for stretch in _stretches(found, of):
            points = (f"{_x_us(t_us, scale, sums)},{_y_decades(ms, decades)}" for t_us, ms in stretch)
            lines.append(Line(name, number, " ".join(points)))
    said = "; ".join(f"{name} within {_short(max(_ms(found, of)))} ms" for name, of in _QUANTILES)
    return Plot(
        "From send to delivery, by powers of ten",
        "ms",
        tuple(lines),
        _x_ticks(scale),
        tuple(
            Tick(_y_decades(10.0**power, decades), _short(10.0**power)) for power in range(decades[0], decades[1] + 1)
        ),
        bands,
        f"{said}, of what was sent in each {_short(found.width_us / US_PER_S)} s",
    )


def _ms(found: Spans, of: str) -> list[float]:
    return [getattr(span, of) / 1000 for span in found.told]


def _stretches(found: Spans, of: str) -> Iterable[list[tuple[int, float]]]:
    """(time, milliseconds) at both ends of each span; a new list where spans without any lie between."""
    stretch: list[tuple[int, float]] = []
    for span in found.told:
        begin, end = span.number * found.width_us, (span.number + 1) * found.width_us
        if stretch and stretch[-1][0] != begin:
            yield stretch
            stretch = []
        stretch += [(begin, getattr(span, of) / 1000), (end, getattr(span, of) / 1000)]
    yield stretch


def _decades(least: Iterable[float], most: Iterable[float]) -> tuple[int, int]:
    """Powers of ten that the axis begins and ends with."""
    low = math.floor(math.log10(max(_LEAST_MS, min(least))))
    return low, max(low + 1, math.ceil(math.log10(max(_LEAST_MS, max(most)))))


def _y_decades(ms: float, decades: tuple[int, int]) -> float:
    low, high = decades
    # A clock that is behind another one's makes a message arrive before it was sent.
    return _y(math.log10(max(ms, 10.0**low)) - low, high - low)


def _x_us(t_us: int, scale: _Scale, sums: Sums) -> float:
    return scale.x(min(max(t_us / sums.unit_us, scale.first), scale.last))


def _latencies_of_windows(sums: Sums, small: Small, scale: _Scale, bands: tuple[Band, ...]) -> Plot | None:
    """Quantiles of what was sent in each fault window, over the window."""
    told = [window for window in sums.windows if window.p50_us >= 0]
    if not told:
        return None
    top = _top(max(window.most_us for window in told) / 1000)
    lines = []
    for number, (name, of) in enumerate(_QUANTILES):
        for window in told:
            epoch = small.epochs[window.epoch]
            ends = (epoch.t_from, sums.end_us if epoch.t_to is None else epoch.t_to)
            y = _y(getattr(window, of) / 1000, top)
            first, last = (_x_us(end, scale, sums) for end in ends)
            lines.append(Line(name, number, f"{first},{y} {max(last, first + 4)},{y}"))
    return Plot(
        "From send to delivery, of what was sent while a fault acted",
        "ms",
        tuple(lines),
        _x_ticks(scale),
        _y_ticks(top),
        bands,
        f"half, 99 % and all messages of {len(told)} fault windows; the slowest took {_short(top)} ms at most",
    )


def _plot(title: str, unit: str, series: Series, scale: _Scale, bands: tuple[Band, ...]) -> Plot | None:
    most = max((max(values) for values in series.values()), default=0.0)
    if not most:
        return None
    top = _top(most)
    lines = tuple(
        Line(name, number, _points(values, scale, top)) for number, (name, values) in enumerate(series.items())
    )
    said = "; ".join(f"{name} at most {_short(max(values))} {unit}" for name, values in series.items())
    return Plot(title, unit, lines, _x_ticks(scale), _y_ticks(top), bands, said)


def _points(values: Sequence[float], scale: _Scale, top: float) -> str:
    """Least and greatest of each stretch, so that no spike is lost where units are narrower than the line."""
    width = max(1, math.ceil(2 * len(values) / _MOST_POINTS))
    points = []
    for begin in range(0, len(values), width):
        piece = values[begin : begin + width]
        ends = {begin + piece.index(min(piece)), begin + piece.index(max(piece))} if width > 1 else {begin}
        points += [f"{scale.x(scale.first + place + 0.5)},{_y(values[place], top)}" for place in sorted(ends)]
    return " ".join(points)


def _y(value: float, top: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * value / top, 1)


def _bands(small: Small, scale: _Scale, unit_us: int) -> Iterable[Band]:
    for epoch in small.epochs.values():
        begin = min(max(epoch.t_from / unit_us, scale.first), scale.last)
        end = scale.last if epoch.t_to is None else min(max(epoch.t_to / unit_us, scale.first), scale.last)
        width = max(_LEAST_BAND, round(scale.x(end) - scale.x(begin), 1))
        yield Band(min(scale.x(begin), RIGHT - width), width, f"{epoch.action} of {epoch.target}")


def _x_ticks(scale: _Scale) -> tuple[Tick, ...]:
    step = _step((scale.last - scale.first) / _X_TICKS)
    first = math.ceil(scale.first / step)
    return tuple(
        Tick(scale.x(number * step), f"{_short(number * step * scale.unit_s)} s")
        for number in range(first, int(scale.last / step) + 1)
    )


def _y_ticks(top: float) -> tuple[Tick, ...]:
    step = _step(top / _Y_TICKS)
    return tuple(Tick(_y(number * step, top), _short(number * step)) for number in range(int(top / step + 1e-9) + 1))


def _top(most: float) -> float:
    """The end of the axis: the next whole step above."""
    step = _step(most / _Y_TICKS)
    return max(step, math.ceil(most / step) * step)


def _step(least: float) -> float:
    """1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(least, 1e-9)))
    return next((power * step for step in _STEPS if power * step >= least), power * 10)


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
