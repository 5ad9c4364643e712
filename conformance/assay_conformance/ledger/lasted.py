"""Times that things lasted: looked up, for a run may have as many faults and lost connections as it has messages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from math import inf


class Lasted:
    """From (begin, end) pairs, in any unit; an end of `inf` never came."""

    def __init__(self, spans: Iterable[tuple[int, float]]) -> None:
        ordered = sorted(spans)
        self._begins = [begin for begin, _ in ordered]
        self._latest = [*accumulate((end for _, end in ordered), max)]

    def latest_end(self, begun_by: float) -> float:
        """Return the last end of those that had begun by then; -inf where there is none."""
        place = bisect_right(self._begins, begun_by)
        return self._latest[place - 1] if place else -inf
