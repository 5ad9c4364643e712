"""Lives: what rows say of one message, together; and what the small tables say of a subscription at a time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from operator import attrgetter
from typing import Final

from assay_conformance.ledger.clauses import Covering, Scope, covered
from assay_conformance.ledger.collection import Counted, Rows, Small, Sums
from assay_conformance.ledger.info import LedgerInfo, Origin
from assay_conformance.ledger.lasted import Lasted
from assay_conformance.ledger.rows import (
    Ack,
    Attempt,
    Consumer,
    Delivery,
    Epoch,
    Outcome,
    Place,
    Stored,
    Subscription,
    place,
)
from assay_conformance.ledger.tables import ANY_HELD, NONE, AckKind, Result

UNBATCHED = -1

_NEVER_COUNTED: Final[tuple[Sequence[int], Sequence[int]]] = ((), (0,))

# As in `model.event`: members of enums are slow to find, and every row is asked.
_OK, _FAIL, _NACK = Result.OK, Result.FAIL, AckKind.NACK


@dataclass(slots=True)
class Life:
    """One message. `given` and `said` are by subscription, in the order of their times."""

    stream: int
    seq: int
    attempts: list[Attempt] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)
    given: dict[int, list[Delivery]] = field(default_factory=dict)
    said: dict[int, list[Ack]] = field(default_factory=dict)

    @property
    def confirmed_at(self) -> int | None:
        """When it was first reported as stored."""
        if len(self.outcomes) == 1:
            only = self.outcomes[0]
            return only.t if only.code == _OK else None
        return min((row.t for row in self.outcomes if row.code == _OK), default=None)

    @property
    def surely_failed(self) -> bool:
        """Every attempt was reported as failed. One that has no end, or an unknown one, may be stored."""
        for row in self.outcomes:
            if row.code != _FAIL:
                return False
        return bool(self.attempts) and {row.attempt for row in self.outcomes} >= {row.attempt for row in self.attempts}

    @property
    def sent_once(self) -> bool:
        return len(self.attempts) < 2

    @property
    def places(self) -> set[Place]:
        """Where copies of it are stored; of one in chunks, where its first chunks are."""
        return {place(row) for row in self.stored if row.chunk == 0}

    @property
    def is_stored(self) -> bool:
        """Whether it has any of these."""
        return any(not row.chunk for row in self.stored)

    def acks(self, sub: int) -> list[Ack]:
        return [row for row in self.said.get(sub, ()) if row.kind != _NACK]

    def nacks(self, sub: int) -> list[Ack]:
        return [row for row in self.said.get(sub, ()) if row.kind == _NACK]


def lives(rows: Rows) -> dict[tuple[int, int], Life]:
    """Return by (stream, seq) what the rows say of that message."""
    found: dict[tuple[int, int], Life] = {}

    def of(stream: int, seq: int) -> Life:
        life = found.get((stream, seq))
        if life is None:
            life = found[stream, seq] = Life(stream, seq)
        return life

    for attempt in sorted(rows.attempts, key=attrgetter("t", "attempt")):
        of(attempt.stream, attempt.seq).attempts.append(attempt)
    for outcome in sorted(rows.outcomes, key=attrgetter("t", "attempt")):
        of(outcome.stream, outcome.seq).outcomes.append(outcome)
    for stored in rows.stored:
        of(stored.stream, stored.seq).stored.append(stored)
    for delivery in sorted(rows.deliveries, key=attrgetter("t", "consumer", "pos")):
        of(delivery.stream, delivery.seq).given.setdefault(delivery.sub, []).append(delivery)
    for ack in sorted(rows.acks, key=attrgetter("t", "consumer", "kind")):
        of(ack.stream, ack.seq).said.setdefault(ack.sub, []).append(ack)
    return found


class Evidence:
    """Everything a rule may know: the lives that were picked, the small tables, and the sums over all rows."""

    def __init__(self, rows: Rows, small: Small, info: LedgerInfo, sums: Sums) -> None:
        self.lives: Mapping[tuple[int, int], Life] = lives(rows)
        self.small = small
        self.info = info
        self.sums = sums
        ended_ms = info.ended_unix_ms
        self.end_us = max(sums.end_us, 0 if ended_ms is None else (ended_ms - info.started_unix_ms) * 1_000)
        sends = [second.second for second in sums.series if second.what is Counted.SENT]
        self._last_send_us = (max(sends, default=-1) + 1) * sums.unit_us
        acking = {second.of for second in sums.series if second.what is Counted.ACKED}
        self.scopes: dict[tuple[int, int], Scope] = small.scopes(info, acking)
        self._unread = {one.writer for one in small.writers.values() if one.held >= ANY_HELD}
        self._consumers: dict[int, list[Consumer]] = {}
        for consumer in small.consumers.values():
            self._consumers.setdefault(consumer.sub, []).append(consumer)
        self._epochs = {sub: [e for e in small.epochs.values() if e.sub in (NONE, sub)] for sub in small.subscriptions}
        self._times: dict[int | None, Lasted] = {}
        self._topics: dict[int, frozenset[int]] = {}
        self._with_stream = frozenset(one.topic for one in small.streams.values())
        self._covering = Covering(small.subscriptions.values())
        self._subscriptions: dict[int, tuple[Subscription, ...]] = {}
        """Stream -> those of its topic."""
        self._first_refusal: dict[int, int] = {}
        for second in sums.series:
            if second.what is Counted.REFUSED:
                at = second.second * sums.unit_us
                self._first_refusal[second.of] = min(at, self._first_refusal.get(second.of, at))

    def subscriptions_of(self, stream: int) -> tuple[Subscription, ...]:
        known = self._subscriptions.get(stream)
        if known is None:
            known = tuple(self._covering.of(self.small.streams[stream].topic))
            self._subscriptions[stream] = known
        return known

    def consumers_of(self, sub: int) -> list[Consumer]:
        return self._consumers.get(sub, [])

    def epochs_of(self, sub: int) -> list[Epoch]:
        return self._epochs.get(sub, [])

    def epoch_times(self, sub: int | None) -> Lasted:
        """Return when faults acted on this subscription, or without one on anything."""
        if sub not in self._times:
            epochs = self.small.epochs.values() if sub is None else self.epochs_of(sub)
            self._times[sub] = Lasted((epoch.t_from, inf if epoch.t_to is None else epoch.t_to) for epoch in epochs)
        return self._times[sub]

    def topics_of(self, sub: int) -> frozenset[int]:
        """Return the topics with a stream that the subscription covers."""
        if sub not in self._topics:
            self._topics[sub] = covered(self.small.subscriptions[sub], self._with_stream)
        return self._topics[sub]

    def counted(self, what: Counted, of: int, from_us: int, until_us: int) -> int:
        """Return how many of them there were in the units of time that lie between these."""
        seconds, sums = self._counts.get((what, of), _NEVER_COUNTED)
        unit_us = self.sums.unit_us
        first, behind = bisect_left(seconds, -(-from_us // unit_us)), bisect_left(seconds, until_us // unit_us)
        return sums[behind] - sums[first] if behind > first else 0

    @cached_property
    def _counts(self) -> dict[tuple[Counted, int], tuple[list[int], list[int]]]:
        """Units of time in which something was counted, and the sums of what was counted ahead of each, and of all."""
        found: dict[tuple[Counted, int], tuple[list[int], list[int]]] = {}
        for one in sorted(self.sums.series, key=attrgetter("second")):
            seconds, sums = found.setdefault((one.what, one.of), ([], [0]))
            seconds.append(one.second)
            sums.append(sums[-1] + one.n)
        return found

    # --- clocks ---

    def clock_error(self, *, stream: int | None = None, consumers: tuple[int, ...] = ()) -> int | None:
        """Return how far the clocks of these writers may be apart, in µs; None if unknown."""
        numbers = {self.small.consumers[number].writer for number in consumers}
        if stream is not None:
            numbers.add(self.small.streams[stream].writer)
        if len(numbers) < 2:
            return 0
        errors = [self.small.writers[number].clock_error for number in numbers if number in self.small.writers]
        return None if NONE in errors else sum(errors)

    # --- a subscription at a time ---

    def disturbed(self, sub: int, from_us: int, to_us: int) -> bool:
        """Return whether a fault acted on it in that time or shortly before, or a consumer came or went."""
        return self.faulted(sub, from_us, to_us) or self.moved(sub, from_us, to_us)

    def faulted(self, sub: int | None, from_us: int, to_us: int) -> bool:
        """Return whether a fault acted on this subscription, or without one on anything, then or shortly before."""
        return self.epoch_times(sub).latest_end(to_us) + self.info.settle_us >= from_us

    def moved(self, sub: int, from_us: int, to_us: int) -> bool:
        """Return whether one of its consumers came or went in that time, or shortly before.

        What a consumer had in its queue is delivered late.
        """
        since_us = from_us - self.info.settle_us
        several = len(self.consumers_of(sub)) > 1
        return several and any(
            since_us <= t <= to_us
            for consumer in self.consumers_of(sub)
            for t in (consumer.t_from, consumer.t_to)
            if t is not None
        )

    def served(self, sub: int, from_us: int) -> bool:
        """Return whether at some time after `from_us` one consumer was there for the grace."""
        return any(
            max(from_us, consumer.t_from) + self.info.grace_us <= self._end_of(consumer)
            for consumer in self.consumers_of(sub)
        )

    def served_until(self, sub: int, from_us: int, until_us: int) -> bool:
        """Return whether one that was there at the first time stayed until the second."""
        return any(
            consumer.t_from <= from_us and until_us <= self._end_of(consumer) for consumer in self.consumers_of(sub)
        )

    def stall_us(self, _epoch: Epoch) -> int:
        """Return how long without a message is a stall after this epoch."""
        return self.info.stall_us

    def outages_of(self, sub: int) -> list[Epoch]:
        """Return the epochs after which messages have to flow again."""
        return self.epochs_of(sub)

    def watched(self, sub: int) -> bool:
        """Return whether its silence means something."""
        return bool(self.small.subscriptions[sub].whole)

    def _end_of(self, consumer: Consumer) -> int:
        return self.end_us if consumer.t_to is None else min(consumer.t_to, self.end_us)

    def passed_over(self, sub: int, stream: int, seq: int) -> bool:
        """Return whether the subscription got later messages of the stream, or all there was to get.

        What it did not get then is not just late.
        """
        drained = self._last_send_us + self.info.grace_us <= self.end_us
        return drained or seq < self.sums.last_given.get((sub, stream), -1)

    def refused_before(self, sub: int, t: int) -> bool:
        """Return whether any message of the subscription was refused up to the unit of time that `t` lies in."""
        first = self._first_refusal.get(sub)
        return first is not None and first <= t

    def rows_lost(self, sub: int, since_us: int) -> bool:
        """Return whether a consumer there at `since_us` or later, up to the grace, was killed with unwritten rows.

        It may have got, and acknowledged, what no other consumer saw.
        """
        return any(self.killed_with_rows(consumer, since_us) for consumer in self.consumers_of(sub))

    def has_holes(self, writer: int) -> bool:
        """Return whether rows of any time are missing: of a file with a broken block, of logs with rows of no use."""
        known = self.small.writers.get(writer)
        return known is not None and (
            known.held >= ANY_HELD or (self.info.origin is Origin.MAPPED and bool(known.dropped))
        )

    def unread(self, life: Life | None = None, sub: int = NONE) -> bool:
        """Return whether any row of a message, or of a subscription's consumers, may be in an unreadable part.

        Without either, whether any row at all may be.
        """
        if not self._unread or NONE in self._unread:
            return bool(self._unread)
        writers = {one.writer for one in self.consumers_of(sub)}
        if life is not None:
            writers.add(self.small.streams[life.stream].writer)
        return not writers or not self._unread.isdisjoint(writers)

    @property
    def unread_reason(self) -> str:
        """Whose rows these are, for a sentence; "" where all could be read."""
        if not self._unread:
            return ""
        names = sorted(self.small.writers[number].name for number in self._unread if number != NONE)
        of = f" of what {', '.join(names[:3])}{' and others' if len(names) > 3 else ''} wrote" if names else ""
        return f"some{of} cannot be read"

    def killed_with_rows(self, consumer: Consumer, since_us: int) -> bool:
        if self.has_holes(consumer.writer):
            return True
        writer = self.small.writers.get(consumer.writer)
        if writer is None or (writer.closed and not writer.dropped) or not (writer.held or writer.dropped):
            return False
        end_us = self.end_us if consumer.t_to is None else consumer.t_to
        return (
            consumer.t_from <= since_us + self.info.grace_us and since_us >= end_us - writer.held - self.info.grace_us
        )
