"""Rates. Dispatch and publish use different buckets, as Pulsar does.

Dispatch: R tokens are added once a period, up to R; reading needs at least one; what was dispatched is taken off
afterwards, so the balance may be negative and the overshoot is repaid by the next periods.
Publish: tokens flow in continuously; the message that uses up the last one is still accepted, and
then nothing is read until one is there again, or 16 ms worth of them where that is more.
"""

from __future__ import annotations

from assay_conformance.broker.timers import NS_PER_S
from assay_conformance.model.policy import Rate

RESOLUTION_NS = 16_000_000
"""A pause is never for less than what flows in during this time."""


class PeriodBucket:
    """`limit` tokens a period."""

    __slots__ = ("_forgives", "_limit", "_period_ns", "_since_ns", "_tokens")

    def __init__(self, limit: int, period_s: int, now_ns: int, *, forgives: bool) -> None:
        self._limit = limit
        self._period_ns = period_s * NS_PER_S
        self._since_ns = now_ns
        self._tokens = limit
        self._forgives = forgives

    def tokens(self, now_ns: int) -> int:
        """What may be read now; zero or less: nothing."""
        periods = (now_ns - self._since_ns) // self._period_ns
        if periods > 0:
            self._since_ns += periods * self._period_ns
            kept = max(self._tokens, 0) if self._forgives else self._tokens
            self._tokens = min(self._limit, kept + periods * self._limit)
        return self._tokens

    def consume(self, count: int) -> None:
        self._tokens -= count


class DispatchLimiter:
    """The two buckets of one level (topic or subscription); either one exhausted stops it."""

    __slots__ = ("_bytes", "_messages")

    def __init__(self, rate: Rate, now_ns: int, *, forgives: bool = False) -> None:
        self._messages = _bucket(rate.messages, rate.period_s, now_ns, forgives)
        self._bytes = _bucket(rate.bytes, rate.period_s, now_ns, forgives)

    def entries(self, wanted: int, entry_bytes: int, now_ns: int) -> int:
        """How many of the wanted entries may be read, when an entry has `entry_bytes` on average; 0 = none now."""
        if self._messages is not None:
            wanted = min(wanted, self._messages.tokens(now_ns))
        if self._bytes is not None and wanted > 0:
            tokens = self._bytes.tokens(now_ns)
            # One entry may always cross the line: an entry larger than the whole rate must get through some day.
            wanted = min(wanted, max(1, tokens // max(1, entry_bytes))) if tokens > 0 else 0
        return max(0, wanted)

    def consume(self, messages: int, size: int) -> None:
        if self._messages is not None:
            self._messages.consume(messages)
        if self._bytes is not None:
            self._bytes.consume(size)


class FlowBucket:
    """`limit` tokens a period, flowing in continuously; counted in tokens times period so that no remainder is lost."""

    __slots__ = ("_capacity", "_limit", "_period_ns", "_scaled", "_since_ns")

    def __init__(self, limit: int, period_s: int, now_ns: int) -> None:
        self._limit = limit
        self._period_ns = period_s * NS_PER_S
        self._capacity = limit * self._period_ns
        self._scaled = self._capacity
        self._since_ns = now_ns

    def consume(self, count: int, now_ns: int) -> bool:
        """Take tokens; False when none is left, so that reading must pause."""
        self._refill(now_ns)
        self._scaled -= count * self._period_ns
        return self._scaled > 0

    def pause_ns(self, now_ns: int) -> int:
        """How long until a useful number of tokens is there; 0 when there is one now."""
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


def _bucket(limit: int, period_s: int, now_ns: int, forgives: bool) -> PeriodBucket | None:
    return PeriodBucket(limit, period_s, now_ns, forgives=forgives) if limit > 0 else None
