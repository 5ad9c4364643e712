"""How long messages took, over the whole run: quantiles of what was sent in each stretch of it.

Where there are more messages than a person needs to know quantiles by, some buckets are looked at: which ones, their
numbers alone say, so that every reader takes the same.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from assay_conformance.ledger.tables import NONE
from assay_conformance.ledger.words import BUCKET_BITS

if TYPE_CHECKING:
    from assay_conformance.ledger.collection import Rows

MOST_SPANS = 120
MOST_MESSAGES = 200_000
"""About so many are looked at."""

_ROUND = (1, 2, 5, 10)
_STREAM_FACTOR, _FACTOR = 40_503, 2_654_435_761
_BEFORE, _AFTER = (1 << 31) - 1, (1 << 32) - 1
"""What is multiplied stays within 64 bits. By the golden ratio, what is taken of a stream lies evenly in it."""

_Key = TypeVar("_Key", bound=Hashable)


class Span(NamedTuple):
    """Of what was sent from `number` times the width to the next: `latencies` from the first attempt to the first
    delivery of each subscription."""

    number: int
    latencies: int
    p50_us: int
    p99_us: int
    most_us: int


class Spans(NamedTuple):
    """Those in which something was sent that was delivered."""

    width_us: int = 0
    spans: tuple[Span, ...] = ()


def width_us(first_us: int, last_us: int) -> int:
    """Return a round time, of which about as many as are drawn cover the run."""
    least = (last_us - first_us) // MOST_SPANS + 1
    power: int = 10 ** (len(str(least)) - 1)
    return next(power * step for step in _ROUND if power * step >= least)


def every(attempts: int) -> int:
    """Return of how many buckets one is looked at."""
    return max(1, math.ceil(attempts / MOST_MESSAGES))


def is_taken(stream: Any, seq: Any, every: int) -> Any:
    """Return whether the bucket of a message is looked at; numbers, or arrays of int64."""
    return is_some(stream * _STREAM_FACTOR + (seq >> BUCKET_BITS), every)


def is_some(place: Any, every: int) -> Any:
    """Return whether a place is one in `every`, evenly, and in no step with anything."""
    return ((place & _BEFORE) * _FACTOR & _AFTER) < (1 << 32) // max(1, every)


def spans(rows: Rows) -> Spans:
    """Return the spans of rows in memory."""
    if not rows.attempts:
        return Spans()
    one_in = every(len(rows.attempts))
    times = [row.t for row in rows.attempts]
    width = width_us(min(times), max(times))
    sent = _first(
        ((row.stream, row.seq), row.t)
        for row in rows.attempts
        if row.attempt == 0 and is_taken(row.stream, row.seq, one_in)
    )
    given = _first(((row.stream, row.seq, row.sub), row.t) for row in rows.deliveries if (row.stream, row.seq) in sent)
    found: dict[int, list[int]] = defaultdict(list)
    for (stream, seq, _), t in given.items():
        begun = sent[stream, seq]
        found[begun // width].append(t - begun)
    return Spans(width, tuple(span(number, sorted(found[number])) for number in sorted(found)))


def _first(timed: Iterable[tuple[_Key, int]]) -> dict[_Key, int]:
    found: dict[_Key, int] = {}
    for key, t in timed:
        found[key] = min(t, found.get(key, t))
    return found


def span(number: int, ordered: Sequence[int]) -> Span:
    """Return the span of latencies that are sorted."""
    return Span(number, len(ordered), *(quantile(ordered, share) for share in (0.5, 0.99, 1.0)))


def quantile(ordered: Sequence[int], share: float) -> int:
    """Return the least value that this share of all does not exceed; -1 of nothing."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else NONE
