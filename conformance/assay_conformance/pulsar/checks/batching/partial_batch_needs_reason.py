from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, zip_longest
from typing import NamedTuple

from assay_conformance.pulsar.checks.batching._closing import FlushCalls, is_alone
from assay_conformance.pulsar.checks.batching._limits import (
    CROSSING_NS,
    Limits,
    admitted_by,
    asked_ns,
    in_one_frame,
    is_clear,
    left_by_period,
    limits_of,
)
from assay_conformance.pulsar.timeline import MS, TOLERANCES, Exercised, Says, Send, Timeline, Unit, breach, check, ms
from assay_conformance.pulsar.timeline.handlers import done_ns
from assay_conformance.tuning import Closing

SLACK_NS = TOLERANCES["time-out-early"].slack_ns
UNEXPLAINED_SHARE = 20
"""One batch in so many may leave for no reason that shows."""

LEAST_BATCHES = 10
"""Of fewer, a single one proves nothing."""


class _Held(NamedTuple):
    """How many messages, and bytes, sends have taken and not given back at any time."""

    called_ns: list[int]
    called_bytes: list[int]
    ended_ns: list[int]
    ended_bytes: list[int]

    @classmethod
    def of(cls, sends: Iterable[Send]) -> _Held:
        calls, ends = [], []
        for send in sends:
            end, since_ns = send.completion, send.called_ns
            if since_ns is not None:
                calls.append((since_ns, send.invoke.size or 0))
            if end is not None:
                ends.append((done_ns(end), send.invoke.size or 0))
        calls.sort()
        ends.sort()
        return cls(*_columns(calls), *_columns(ends))

    def at(self, t_ns: int) -> tuple[int, int]:
        """Return (messages, bytes), counting those whose end is so near that it may not have shown."""
        called, ended = bisect_right(self.called_ns, t_ns), bisect_right(self.ended_ns, t_ns - SLACK_NS)
        return called - ended, self.called_bytes[called] - self.ended_bytes[ended]


def _columns(rows: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [t_ns for t_ns, _ in rows], list(accumulate((size for _, size in rows), initial=0))


class _Batch(NamedTuple):
    """A unit whose first message was asked for at `since_ns`, and the one that left after it."""

    unit: Unit
    after: Unit | None
    since_ns: int


class _Producer:
    """One whose batches close for the reasons of a default batcher alone, and whose messages are all known."""

    def __init__(self, timeline: Timeline, handle: int, limits: Limits) -> None:
        self._timeline, self.handle, self.limits = timeline, handle, limits
        self._held = _Held.of(timeline.sends_of(handle))
        handles = timeline.producers_of_client(timeline.openings[handle].args.get("client"))
        self._held_by_all = _Held.of(send for other in handles for send in timeline.sends_of(other))
        self.asked = FlushCalls.of(timeline, handle)

    def batches(self) -> Iterator[_Batch]:
        """Yield the batches of all its partitions, where brokers read what is written as it comes."""
        for producer in self._timeline.producers_of(self.handle):
            at_once = self._timeline.view.is_read_at_once()
            for unit, after in zip_longest(producer.units, producer.units[1:]) if at_once else ():
                since_ns = asked_ns(self._timeline.view, unit)
                if since_ns is not None and admitted_by(unit, since_ns):
                    yield _Batch(unit, after, since_ns)

    def is_flushed(self, batch: _Batch) -> bool:
        """Return whether the application may have made it leave."""
        return self.asked.between(batch.since_ns - SLACK_NS, batch.unit.first.t_ns)

    def reason(self, batch: _Batch) -> Closing | None:
        """Return why a batch that is not full left, and was not flushed: no room for another message, or its time."""
        view, left_ns = self._timeline.view, batch.unit.first.t_ns
        queue = int(view.producer_setting(self.handle, "max_pending_messages") or 0)
        memory = int(view.client_setting(self.handle, "memory_limit_bytes") or 0)
        if 0 < queue <= self._held.at(left_ns)[0]:
            return Closing.PERMITS
        if 0 < memory <= self._held_by_all.at(left_ns)[1]:
            return Closing.MEMORY
        by_timer = self._is_by_timer_before(batch.unit) or left_by_period(batch.unit, self.limits.delay_ms)
        return Closing.DELAY if self._is_over(batch) or by_timer else None

    def _is_over(self, batch: _Batch) -> bool:
        """Return whether its time was up, or nothing came in its time that is not in it."""
        due_ns = batch.since_ns + self.limits.delay_ms * MS - SLACK_NS
        next_ns = None if batch.after is None else asked_ns(self._timeline.view, batch.after)
        return batch.unit.first.t_ns >= due_ns or next_ns is None or next_ns >= due_ns

    def _is_by_timer_before(self, unit: Unit) -> bool:
        """Return whether the timer of the batch in front was up when this one left.

        Or that batch has been gone for so long: Java's timer counts from then.
        """
        before = unit.line.units[unit.index - 1] if unit.index else None
        if before is None:
            return False
        left_ns, delay_ns = unit.first.t_ns, self.limits.delay_ms * MS
        began_ns = asked_ns(self._timeline.view, before)
        by_old_timer = began_ns is not None and abs(left_ns - began_ns - delay_ns) <= CROSSING_NS
        return by_old_timer or left_ns - before.first.t_ns >= delay_ns - SLACK_NS


def _producers(timeline: Timeline) -> Iterator[_Producer]:
    for handle in timeline.openings:
        limits = limits_of(timeline.view, handle)
        if limits is None or timeline.batches_by_key(handle) or not is_clear(timeline, handle):
            continue
        if not any(is_alone(send) for send in timeline.sends_of(handle)):
            yield _Producer(timeline, handle, in_one_frame(timeline.view, limits))


@check("batching.partial-batch-needs-reason", of=_producers)
def partial_batch_needs_reason(timeline: Timeline, producer: _Producer) -> Says:
    """batching.partial-batch-needs-reason: a batch that is not full leaves because of its delay, a flush, or a full
    queue or memory; or nothing else came.

    Each batch is explained by the first reason that fits. Reasons are generous: what may have been one is one, and so
    may the timer of the batch before it, which had fired already when it was stopped, or one that ticks once a delay.
    Few batches may stay unexplained; the share is of all batches.
    """
    limits, unexplained, explained = producer.limits, list[_Batch](), 0
    for batch in producer.batches():
        if limits.reached_by(batch.unit, batch.after, headers=True) is not None or producer.is_flushed(batch):
            continue
        if producer.reason(batch) is None:
            unexplained.append(batch)
        else:
            explained += 1
            yield Exercised(batch.unit.first)
    judged = explained + len(unexplained)
    enough = len(unexplained) > 1 or judged >= LEAST_BATCHES
    if enough and len(unexplained) * UNEXPLAINED_SHARE > judged:
        (unit, _, since_ns), *others = unexplained[:2]
        yield breach(
            "left-early",
            f"{unit.line}: {len(unexplained)} of {judged} batches left before they were full without a reason, such "
            f"as {unit} at {ms(unit.first.t_ns)}: its first message was sent at {ms(since_ns)}, it may hold "
            f"{limits.messages} messages and {limits.bytes} bytes and wait {limits.delay_ms} ms, the application did "
            "not flush it, and there was room for more",
            *(unit.first, *(other.unit.first for other in others)),
        )
