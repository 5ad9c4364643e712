"""Rates. Dispatch and publish use different buckets, as Pulsar does.

Dispatch: tokens are added when a period has passed since the last time, as many as have flowed in by then, up to R;
reading needs at least one; what was dispatched is taken off afterwards, so the balance may be negative and the
overshoot is repaid by the next periods. What flowed in while nothing was read pays for it, too, beyond R, since what
was consumed is taken off first (AsyncTokenBucket of 4.0, which adds for these buckets once a period). Publish: tokens
flow in continuously; the message that uses up the last one is still accepted, and then nothing is read until one is
there again, or 16 ms worth of them where that is more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from assay_conformance.broker.host import Host
from assay_conformance.broker.timers import NS_PER_S
from assay_conformance.model.policy import Rate

RESOLUTION_NS = 16_000_000
"""A pause is never for less than what flows in during this time."""

LEAST_PERIOD_S = 1
"""ratePeriodInSecond of zero or less is taken, and one second holds (DispatchRateLimiter, SubscribeRateLimiter)."""


class PeriodBucket:
    """`limit` tokens a period, and what `extra` gives, which is asked once each time tokens are added. What is less
    than a token counts the next time."""

    __slots__ = ("_extra", "_limit", "_period_ns", "_rest", "_since_ns", "_spent", "_tokens")

    def __init__(self, limit: int, period_s: int, now_ns: int, *, extra: Callable[[], int] | None = None) -> None:
        self._limit = limit
        self._period_ns = max(LEAST_PERIOD_S, period_s) * NS_PER_S
        self._since_ns = now_ns
        self._rest = 0
        self._spent = 0
        self._tokens = limit
        self._extra = extra

    def tokens(self, now_ns: int) -> int:
        """Return what may be read now; zero or less for nothing."""
        passed_ns = now_ns - self._since_ns
        if passed_ns >= self._period_ns:
            self._since_ns = now_ns
            periods = passed_ns // self._period_ns
            limit = self._limit if self._extra is None else self._limit + self._extra() // periods
            gained, self._rest = divmod(passed_ns * limit + self._rest, self._period_ns)
            self._tokens = min(limit, gained + self._kept())
            self._spent = 0
        return self._tokens - self._spent

    def _kept(self) -> int:
        """Return what the next period begins with: less than zero where more was spent than there was."""
        return self._tokens - self._spent

    def consume(self, count: int) -> None:
        self._spent += count


class DispatchLimiter:
    """The two buckets of one level (broker, topic or subscription); either one exhausted stops it.

    `published` returns the messages and bytes a topic ever got, for a rate that is relative to them.
    """

    __slots__ = ("_bytes", "_host", "_messages")

    def __init__(self, host: Host, rate: Rate, published: Callable[[], tuple[int, int]] | None = None) -> None:
        self._host = host
        grown: list[Callable[[], int] | None] = [None, None]
        if rate.relative_to_publish and published is not None:
            grown = [_growth(published, 0), _growth(published, 1)]
        made = host.implementation(PeriodBucket)
        self._messages, self._bytes = (
            made(count, rate.period_s, host.now_ns, extra=extra) if count > 0 else None
            for count, extra in zip((rate.messages, rate.bytes), grown, strict=True)
        )

    def entries(self, wanted: int, entry_bytes: int) -> int:
        """Return how many of the wanted entries may be read at this average size; 0 for none now."""
        allowed: list[int] = []
        if self._messages is not None:
            allowed.append(self._messages.tokens(self._host.now_ns))
        if self._bytes is not None:
            tokens = self._bytes.tokens(self._host.now_ns)
            # One entry may always cross the line: an entry larger than the whole rate must get through some day.
            allowed.append(ceil(tokens / max(1, entry_bytes)) if tokens > 0 else 0)
        return self._fewest(wanted, allowed)

    def _fewest(self, wanted: int, allowed: Sequence[int]) -> int:
        return max(0, min((wanted, *allowed)))

    def consume(self, messages: int, size: int) -> None:
        if self._messages is not None:
            self._messages.consume(messages)
        if self._bytes is not None:
            self._bytes.consume(size)


def _growth(published: Callable[[], tuple[int, int]], part: int) -> Callable[[], int]:
    """Return a function that returns the growth since it was last called."""
    last = published()[part]

    def grown() -> int:
        nonlocal last
        before, last = last, published()[part]
        return last - before

    return grown


class FlowBucket:
    """`limit` tokens a period, flowing in continuously; counted in tokens times period so that no remainder is lost."""

    __slots__ = ("_capacity", "_limit", "_period_ns", "_scaled", "_since_ns")

    def __init__(self, limit: int, period_s: int, now_ns: int) -> None:
        self._limit = limit
        self._period_ns = max(LEAST_PERIOD_S, period_s) * NS_PER_S
        self._capacity = limit * self._period_ns
        self._scaled = self._capacity
        self._since_ns = now_ns

    def consume(self, count: int, now_ns: int) -> bool:
        """Take tokens; False when none is left, so that reading must pause."""
        self._refill(now_ns)
        self._scaled -= count * self._period_ns
        return self._scaled > 0

    def pause_ns(self, now_ns: int) -> int:
        """Return how long it takes until a useful number of tokens is there; 0 when there is one now."""
        self._refill(now_ns)
        if self._scaled > 0:
            return 0
        target = max(1, RESOLUTION_NS * self._limit // self._period_ns)
        return -(-(target * self._period_ns - self._scaled) // self._limit)

    def _refill(self, now_ns: int) -> None:
        gained = (now_ns - self._since_ns) * self._limit
        self._since_ns = now_ns
        self._scaled = min(self._capacity, self._scaled + gained)


class PublishLimiter:
    """The two buckets of a topic's publish rate; the longer pause counts."""

    __slots__ = ("_bytes", "_messages")

    def __init__(self, rate: Rate, now_ns: int) -> None:
        self._messages = FlowBucket(rate.messages, rate.period_s, now_ns) if rate.messages > 0 else None
        self._bytes = FlowBucket(rate.bytes, rate.period_s, now_ns) if rate.bytes > 0 else None

    def consume(self, messages: int, size: int, now_ns: int) -> bool:
        """Charge an accepted SEND; False when reading must pause now."""
        enough = self._messages is None or self._messages.consume(messages, now_ns)
        return (self._bytes is None or self._bytes.consume(size, now_ns)) and enough

    def pause_ns(self, now_ns: int) -> int:
        return max(bucket.pause_ns(now_ns) if bucket else 0 for bucket in (self._messages, self._bytes))
