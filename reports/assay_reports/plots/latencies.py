"""How long messages took: over the run by powers of ten, and of what was sent in each fault window."""

from __future__ import annotations

import math
from collections.abc import Iterable

from assay_conformance.ledger.collection import US_PER_S, Small, Sums
from assay_conformance.ledger.spans import Spans
from assay_reports.plots.canvas import Band, Line, Plot, Scale, Tick, short, top_of, x_ticks, y_of, y_ticks

_LEAST_MS = 0.001
_QUANTILES = (("half", "p50_us"), ("99 %", "p99_us"), ("all", "most_us"))


def latencies(sums: Sums, scale: Scale, bands: tuple[Band, ...]) -> Plot | None:
    """Return the quantiles of latency over the run, as steps; None where nothing was delivered.

    Median and maximum are powers of ten apart, so the axis is logarithmic.
    """
    found = sums.spans
    if not found.spans:
        return None
    decades = _decades(_ms(found, "p50_us"), _ms(found, "most_us"))
    lines = []
    for number, (name, of) in enumerate(_QUANTILES):
        for stretch in _stretches(found, of):
            points = (f"{scale.x_us(t_us)},{_y_decades(ms, decades)}" for t_us, ms in stretch)
            lines.append(Line(name, number, " ".join(points)))
    said = "; ".join(f"{name} within {short(max(_ms(found, of)))} ms" for name, of in _QUANTILES)
    return Plot(
        "From send to delivery, by powers of ten",
        "ms",
        tuple(lines),
        x_ticks(scale),
        tuple(
            Tick(_y_decades(10.0**power, decades), short(10.0**power)) for power in range(decades[0], decades[1] + 1)
        ),
        bands,
        f"{said}, of what was sent in each {short(found.width_us / US_PER_S)} s",
    )


def _ms(found: Spans, of: str) -> list[float]:
    return [getattr(span, of) / 1000 for span in found.spans]


def _stretches(found: Spans, of: str) -> Iterable[list[tuple[int, float]]]:
    """(time, milliseconds) at both ends of each span; a new list where spans without any lie between."""
    stretch: list[tuple[int, float]] = []
    for span in found.spans:
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
    return y_of(math.log10(max(ms, 10.0**low)) - low, high - low)


def latencies_of_windows(sums: Sums, small: Small, scale: Scale, bands: tuple[Band, ...]) -> Plot | None:
    """Return the latency quantiles of what was sent in each fault window, drawn over the window; None without any."""
    judged = [window for window in sums.windows if window.p50_us >= 0]
    if not judged:
        return None
    top = top_of(max(window.most_us for window in judged) / 1000)
    lines = []
    for number, (name, of) in enumerate(_QUANTILES):
        for window in judged:
            epoch = small.epochs[window.epoch]
            ends = (epoch.t_from, sums.end_us if epoch.t_to is None else epoch.t_to)
            y = y_of(getattr(window, of) / 1000, top)
            first, last = (scale.x_us(end) for end in ends)
            lines.append(Line(name, number, f"{first},{y} {max(last, first + 4)},{y}"))
    return Plot(
        "From send to delivery, of what was sent while a fault acted",
        "ms",
        tuple(lines),
        x_ticks(scale),
        y_ticks(top),
        bands,
        f"half, 99 % and all messages of {len(judged)} fault windows; the slowest took {short(top)} ms at most",
    )
