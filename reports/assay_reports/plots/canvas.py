"""What plots are made of: lines, ticks and bands in pixels, and the scales that put them there."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from assay_conformance.ledger.collection import US_PER_S, Small

WIDTH = 1080
LEFT, RIGHT, TOP, BOTTOM = 74, 1064, 26, 196
HEIGHT = 232

_X_TICKS, _Y_TICKS = 8, 4
_STEPS = (1, 2, 5)
_LEAST_BAND = 5.0
"""Pixels: what acted for a moment in a run of hours is seen."""


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
class Scale:
    first: int
    last: int
    unit_us: int

    @property
    def unit_s(self) -> float:
        return self.unit_us / US_PER_S

    def x(self, unit: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (unit - self.first) / max(1, self.last - self.first), 1)

    def x_us(self, t_us: int) -> float:
        """Return the x coordinate of a time in µs; of one outside of the picture, that of its edge."""
        return self.x(min(max(t_us / self.unit_us, self.first), self.last))


def y_of(value: float, top: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * value / top, 1)


def bands(small: Small, scale: Scale) -> Iterable[Band]:
    for epoch in small.epochs.values():
        begin = scale.x_us(epoch.t_from)
        end = scale.x(scale.last) if epoch.t_to is None else scale.x_us(epoch.t_to)
        width = max(_LEAST_BAND, round(end - begin, 1))
        yield Band(min(begin, RIGHT - width), width, f"{epoch.action} of {epoch.target}")


def x_ticks(scale: Scale) -> tuple[Tick, ...]:
    step = _step((scale.last - scale.first) / _X_TICKS)
    first = math.ceil(scale.first / step)
    return tuple(
        Tick(scale.x(number * step), f"{short(number * step * scale.unit_s)} s")
        for number in range(first, int(scale.last / step) + 1)
    )


def y_ticks(top: float) -> tuple[Tick, ...]:
    step = _step(top / _Y_TICKS)
    return tuple(Tick(y_of(number * step, top), short(number * step)) for number in range(int(top / step + 1e-9) + 1))


def top_of(most: float) -> float:
    """Return the end of the axis: the next whole step above."""
    step = _step(most / _Y_TICKS)
    return max(step, math.ceil(most / step) * step)


def _step(least: float) -> float:
    """1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(least, 1e-9)))
    return next((power * step for step in _STEPS if power * step >= least), power * 10)


def short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
