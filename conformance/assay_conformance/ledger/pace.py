"""A rate with what it may carry over: the fullest stretch of time, against what the rate lets through in it."""

from __future__ import annotations

from collections.abc import Sequence


def busiest(times: Sequence[int], counts: Sequence[int], rate: float) -> tuple[float, int, int]:
    """How many more there were in the fullest stretch than `rate` a unit of time earns from its first to its last, and
    the places of these two. `times` do not fall; (0.0, 0, 0) of nothing."""
    most, first, last = 0.0, 0, 0
    least, since, total = 0.0, 0, 0.0
    for place, (time, count) in enumerate(zip(times, counts, strict=True)):
        earned = rate * (time - times[0])
        if total - earned < least:
            least, since = total - earned, place
        total += count
        if total - earned - least > most:
            most, first, last = total - earned - least, since, place
    return most, first, last
