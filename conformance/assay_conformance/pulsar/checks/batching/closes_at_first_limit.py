from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from assay_conformance.model.event import Fate
from assay_conformance.pulsar.checks.batching._limits import (
    Limits,
    admitted_by,
    asked_ns,
    left_by_period,
    limits_of,
)
from assay_conformance.pulsar.timeline import MS, Exercised, Says, Timeline, Unit, breach, check, each, ms


@check("batching.closes-at-first-limit")
def closes_at_first_limit(timeline: Timeline) -> Says:
    """batching.closes-at-first-limit: a batch closes at the first of its three limits: messages, bytes, or the delay
    since its first message.

    Closing earlier is allowed (flush, a synchronous send, a full queue). The bytes limit is reached when what is inside
    comes to it, so only a message added after that is one too many. The delay is judged while the broker reads, and
    from the admission of the producer on, or again on: a batch cannot leave without a connection, nor be seen while
    nothing reads it. Where a full queue blocks, a message may wait in front of the batch as well, which is a matter of
    its own.

    A batch shows something when one of its limits was reached: it was full, it had no room for the message after it, or
    its time was up: its own delay, or the period of a client that looks once a delay. One that is full by count has no
    message to wait for; whether it waits for receipts is a matter of its own.
    """
    batches = list(_batches(timeline))
    yield from each(batches, _judge_in_limits)
    yield from each(batches, _leaves_in_time, timeline)
    yield from each(batches, _leaves_when_full, timeline)


class _Batch(NamedTuple):
    """What left at once; `is_full`: by its messages or bytes, with the first message of what left after it."""

    unit: Unit
    limits: Limits
    is_full: bool


def _batches(timeline: Timeline) -> Iterator[_Batch]:
    for producer in timeline.producers:
        handle = -1 if producer.handle is None else producer.handle
        blocks = producer.handle is None or timeline.view.producer_setting(handle, "block_if_queue_full")
        limits = None if blocks else limits_of(timeline.view, handle)
        for unit, after in zip_longest(producer.units, producer.units[1:]) if limits is not None else ():
            if limits is not None and unit.numbers:
                yield _Batch(unit, limits, limits.reached_by(unit, after) is not None)


def _judge_in_limits(batch: _Batch) -> Says:
    unit, limits, is_full = batch
    frame, messages, inside = unit.first, len(unit.numbers), sum(member.size for member in unit.first.members[:-1])
    if is_full:
        yield Exercised(frame)
    if 0 < limits.messages < messages:
        holds = f"holds {messages} messages, {limits.messages} are the limit"
        yield breach("too-many-messages", f"{unit.line}: the batch at {ms(frame.t_ns)} {holds}", frame)
    if limits.bytes and inside >= limits.bytes:
        held = f"held {inside} bytes, of {limits.bytes} allowed, and took one message more"
        yield breach("too-many-bytes", f"{unit.line}: the batch at {ms(frame.t_ns)} {held}", frame)


def _leaves_in_time(timeline: Timeline, batch: _Batch) -> Says:
    unit, limits, is_full = batch
    asked, send = asked_ns(timeline.view, unit), next(timeline.sends(unit), None)
    ready, at_once = unit.sends[0][0].ready, timeline.view.is_read_at_once()
    if asked is None or send is None or not at_once or ready is None or ready.fate is not Fate.PASSED:
        return
    since_ns = max(asked, ready.t_ns)
    left, due_ns = unit.first, since_ns + limits.delay_ms * MS
    if timeline.bounds.is_overdue("batch-delay", since_ns, left.t_ns, due_ns=due_ns, what="a batch"):
        yield breach(
            "too-late",
            f"{unit.line}: message {unit.numbers[0]} was sent by the application at {ms(asked)}"
            f"{'' if since_ns == asked else f', and its producer admitted at {ms(since_ns)}'}; expected its batch to "
            f"leave within its delay of {limits.delay_ms} ms; it left at {ms(left.t_ns)}",
            *(send.invoke, left),
        )
    elif is_full:
        return
    elif left_by_period(unit, limits.delay_ms) or not timeline.bounds.is_before("time-out-early", due_ns, left.t_ns):
        yield Exercised(left)


def _leaves_when_full(timeline: Timeline, batch: _Batch) -> Says:
    unit, since_ns = batch.unit, _full_since_ns(timeline, batch)
    if since_ns is None or not timeline.view.is_read_at_once() or not admitted_by(unit, since_ns):
        return
    if timeline.bounds.is_overdue("batch-delay", since_ns, unit.first.t_ns, what="a full batch"):
        yield breach(
            "full-kept",
            f"{unit.line}: the batch of messages {unit.numbers[0]} to {unit.numbers[-1]} was full at {ms(since_ns)}; "
            f"expected it to leave at once; it left at {ms(unit.first.t_ns)}",
            unit.first,
        )


def _full_since_ns(timeline: Timeline, batch: _Batch) -> int | None:
    """Return when the client had the last message for which the batch had room, and an answer to the unit before it.

    None where that is not known.
    """
    unit, handle = batch.unit, batch.unit.line.handle
    if handle is None or not 0 < batch.limits.messages == len(unit.numbers):
        return None
    last = timeline.send(handle, unit.numbers[-1])
    full_ns = None if last is None else last.called_ns
    before = unit.line.units[unit.index - 1] if unit.index else None
    answers = [] if before is None else sorted(answer.t_ns for answer in before.answers)
    if full_ns is None or (before is not None and not answers):
        return None
    return max([full_ns, *answers[:1]])
