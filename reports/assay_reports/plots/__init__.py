"""How a run went, drawn for people: rates, what was behind, what came again, how long it took; faults as bands.

Rows in, coordinates out, as `page.chart` does it for timelines; the template draws them.
"""

from __future__ import annotations

from assay_conformance.ledger.collection import Small, Sums
from assay_reports.plots.canvas import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Plot, Scale, bands
from assay_reports.plots.counts import plots_of_counts
from assay_reports.plots.latencies import latencies, latencies_of_windows

__all__ = ["BOTTOM", "HEIGHT", "LEFT", "RIGHT", "TOP", "WIDTH", "Plot", "plots"]


def plots(sums: Sums, small: Small) -> tuple[Plot, ...]:
    """Return the plots of a run; none where it has no times, or all of them fall into one interval."""
    units = [one.second for one in sums.series]
    if not units or max(units) == min(units):
        return ()
    scale = Scale(min(units), max(units) + 1, sums.unit_us)
    faults = tuple(bands(small, scale))
    made = (
        *plots_of_counts(sums, small, scale, faults),
        latencies(sums, scale, faults),
        latencies_of_windows(sums, small, scale, faults),
    )
    return tuple(plot for plot in made if plot is not None)
