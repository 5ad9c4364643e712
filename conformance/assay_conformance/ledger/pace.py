"""A rate with what it may carry over: the fullest stretch of time, against what the rate lets through in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

RATE_ERROR: Final = 1.1
"""A rate is kept within ten percent."""

LEAST_PERIODS: Final = 10
"""Units of time, or periods of a rate, of fewer of which a rate is not judged from below."""


class Excess(NamedTuple):
    """So much more came than was earned in the fullest stretch, whose ends are at these places; `allowed`: at most."""

    more: int
    allowed: int
    first: int
    last: int


def busiest(times: Sequence[int], counts: Sequence[int], rate: float) -> tuple[float, int, int]:
    """Return by how much the fullest stretch exceeds `rate`, and the places of its first and last.

    `rate` is what a unit of time earns. `times` do not fall; (0.0, 0, 0) of nothing.
    """
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


def excess(times: Sequence[int], counts: Sequence[int], rate: int, period: float, ahead: float) -> Excess | None:
    """Return what came too fast under a rate of so many in a `period`; None where nothing did.

    The rate lets through one full bucket more, and `ahead`. This is the rule of rates, whether rows or a history fed
    it.
    """
    more, first, last = busiest(times, counts, rate * RATE_ERROR / period)
    allowed = rate * RATE_ERROR + ahead
    return Excess(round(more), round(allowed), first, last) if more > allowed else None
