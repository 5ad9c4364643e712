from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from assay_conformance.model.event import Event, Overdue
from assay_conformance.pulsar.checks.batching._closing import FlushCalls, is_alone
from assay_conformance.pulsar.checks.batching._limits import (
    Limits,
    admitted_by,
    asked_ns,
    in_one_frame,
    is_clear,
    limits_of,
)
from assay_conformance.pulsar.timeline import (
    MS,
    TOLERANCES,
    Exercised,
    Producer,
    Says,
    Timeline,
    Unit,
    breach,
    check,
    each,
    ended_ns,
    ms,
)
from assay_conformance.pulsar.timeline.time_outs import waits_behind_send


@check("batching.small-queue-does-not-stall")
def small_queue_does_not_stall(timeline: Timeline) -> Says:
    """batching.small-queue-does-not-stall: where a full queue blocks and holds fewer messages than a batch, no batch
    outgrows the queue, and each leaves by its delay: the message that would fill it waits for room that only the batch
    can make.

    A message counts as accepted, at the latest, when it was asked for and whatever was answered last had made room.

    That the queue is full closes no batch: two that follow each other on one connection, nothing else having closed
    either of them, are a delay apart. When the first message of a batch came does not say how early it may leave: some
    clients look at their batches by a timer that runs on, or count from the SEND before.
    """
    small = [queue for handle in timeline.openings for queue in _small_queue(timeline, handle)]
    left = [left for queue in small for left in _left(timeline, queue)]
    yield from each(left, _fits, timeline)
    yield from each(left, _leaves_in_time, timeline)
    queues = {queue.handle: queue for queue in small}
    yield from each(timeline.events.of(Overdue) if queues else (), _judge_not_stuck, timeline, queues)
    filled = {id(one.unit) for one in left if one.is_full}
    yield from each(_pairs(timeline, small, filled), _judge_apart, timeline)


class _Queue(NamedTuple):
    """A queue that blocks, and is too small for a batch. `messages`: how many it holds."""

    handle: int
    messages: int
    limits: Limits


def _small_queue(timeline: Timeline, handle: int) -> Iterator[_Queue]:
    setting, limits = timeline.view.producer_setting, limits_of(timeline.view, handle)
    messages = int(setting(handle, "max_pending_messages") or 0)
    if limits is not None and 0 < messages < limits.messages and setting(handle, "block_if_queue_full"):
        yield _Queue(handle, messages, limits)


class _Left(NamedTuple):
    """A batch that left: whether it filled its queue then, and what had made room last."""

    queue: _Queue
    unit: Unit
    is_full: bool
    room_ns: int


def _left(timeline: Timeline, queue: _Queue) -> Iterator[_Left]:
    units = [unit for producer in timeline.producers_of(queue.handle) for unit in producer.units]
    answers = [frame for unit in units for frame in unit.answers]
    answers += [answer.frame for answer in timeline.answers if answer.handle == queue.handle]
    answers.sort(key=lambda frame: frame.seq)
    ends = sorted(
        (ended_ns(send.completion), send.invoke.number or 0)
        for send in timeline.sends_of(queue.handle)
        if send.completion is not None
    )
    for producer in timeline.producers_of(queue.handle):
        waiting: list[Unit] = []
        for unit in (one for one in producer.units if one.numbers):
            seq = unit.first.seq
            waiting = [*(one for one in waiting if not _is_over(timeline, one, seq)), unit]
            answered = bisect_right(answers, seq, key=lambda frame: frame.seq)
            room_ns = max(answers[answered - 1].t_ns if answered else 0, _made_room_ns(ends, unit))
            yield _Left(queue, unit, sum(len(one.numbers) for one in waiting) >= queue.messages, room_ns)


def _made_room_ns(ends: Sequence[tuple[int, int]], unit: Unit) -> int:
    """Return the last end of an older send by when a batch left.

    `ends`: when each send ended, in order, and its number. An end by the client's clock may seem to come a little later
    than what it made room for: the two have clocks of their own.
    """
    left_ns, slack_ns = unit.first.t_ns, TOLERANCES["time-out-early"].slack_ns
    last = bisect_right(ends, left_ns + slack_ns, key=lambda end: end[0])
    older = (ends[place][0] for place in range(last - 1, -1, -1) if ends[place][1] < unit.numbers[0])
    return min(next(older, 0), left_ns)


def _is_over(timeline: Timeline, unit: Unit, seq: int) -> bool:
    return unit.answered_before(seq) or timeline.had_ended(unit, seq)


def _fits(timeline: Timeline, left: _Left) -> Says:
    queue, unit = left.queue, left.unit
    if len(unit.numbers) > queue.messages:
        yield breach(
            "larger-than-queue",
            f"{unit.line}: the batch at {ms(unit.first.t_ns)} holds {len(unit.numbers)} messages; expected at most "
            f"{queue.messages}, its max_pending_messages",
            unit.first,
        )
    waiting = timeline.send(queue.handle, unit.numbers[-1] + 1)
    if left.is_full and waiting is not None and waiting.invoke.seq < unit.first.seq:
        yield Exercised(unit.first)


def _leaves_in_time(timeline: Timeline, left: _Left) -> Says:
    unit, limits, since_ns = left.unit, left.queue.limits, asked_ns(timeline.view, left.unit)
    accepted_ns = max(since_ns or 0, left.room_ns)
    if since_ns is None or not admitted_by(unit, accepted_ns):
        return
    due_ns = accepted_ns + limits.delay_ms * MS
    if timeline.bounds.is_overdue("batch-delay", accepted_ns, unit.first.t_ns, due_ns=due_ns, what="a batch"):
        yield breach(
            "too-late",
            f"{unit.line}: there was room for message {unit.numbers[0]} by {ms(accepted_ns)}; expected its batch "
            f"within {limits.delay_ms} ms; it left at {ms(unit.first.t_ns)}",
            unit.first,
        )


def _judge_not_stuck(timeline: Timeline, queues: dict[int, _Queue], overdue: Overdue) -> Says:
    """Judge whether a send is stuck: nothing is in flight, so only the client's own batch keeps it waiting."""
    call = timeline.call_of(overdue.op)
    queue = queues.get(-1 if call is None or call.verb != "send" or call.handle is None else call.handle)
    send = None if call is None or queue is None else timeline.send(queue.handle, call.number or 0)
    if call is None or queue is None or send is None or waits_behind_send(timeline, overdue):
        return
    made_ns = send.called_ns
    if made_ns is not None and overdue.t_ns - made_ns < overdue.deadline_ms * MS:
        return
    unit, producers = timeline.unit_with(send), list(timeline.producers_of(queue.handle))
    has_left = unit is not None and unit.first.seq < overdue.seq
    if has_left or not producers or not all(_is_idle(timeline, producer, overdue) for producer in producers):
        return
    since_ns = overdue.t_ns - overdue.deadline_ms * MS
    timeline.bounds.check_fair("schedule", since_ns, overdue.t_ns, what="whether a send was stuck")
    yield breach(
        "stuck",
        f"producer {queue.handle}: message {call.number} was sent by the application at {ms(call.t_ns)}; expected it "
        f"to leave, with nothing in flight and a queue of {queue.messages} messages; it had not by {ms(overdue.t_ns)}",
        *(call, overdue),
    )


def _is_idle(timeline: Timeline, producer: Producer, at: Event) -> bool:
    """Return whether it is admitted, on a connection that lives, and has an answer to everything it sent."""
    session = producer.last_session(at.seq)
    if session is None or not session.was_admitted(at) or timeline.had_closed(session.conn, at):
        return False
    if producer.closing_before(at.seq):
        return False
    return all(unit.sent_on(session) is None for unit in timeline.pending.open(producer, at))


class _Pair(NamedTuple):
    """Two batches that followed each other, and left by nothing but their delay."""

    before: Unit
    unit: Unit
    since_ns: int
    delay_ms: int


def _pairs(timeline: Timeline, small: list[_Queue], filled: set[int]) -> Iterator[_Pair]:
    """Yield pairs where nothing is set of batches by key or memory, and no message leaves by itself."""
    view = timeline.view
    for queue in small:
        handle, limits = queue.handle, in_one_frame(view, queue.limits)
        alone = any(is_alone(send) for send in timeline.sends_of(handle))
        bounded = view.client_setting(handle, "memory_limit_bytes")
        if alone or bounded or timeline.batches_by_key(handle) or not is_clear(timeline, handle):
            continue
        asked, slack_ns = FlushCalls.of(timeline, handle), TOLERANCES["batch-delay"].slack_ns
        for producer in timeline.producers_of(handle):
            for before, unit in pairwise(producer.units) if view.is_read_at_once() else ():
                since_ns, began_ns = asked_ns(view, before), asked_ns(view, unit)
                several = min(len(before.numbers), len(unit.numbers)) > 1
                if id(unit) not in filled or not several or since_ns is None or began_ns is None:
                    continue
                closing, one_session = producer.closing, before.sends[0][0] is unit.sends[0][0]
                if (closing is not None and closing.t_ns <= unit.first.t_ns) or not one_session:
                    continue
                flushed = asked.between(since_ns - slack_ns, unit.first.t_ns) or not admitted_by(before, since_ns)
                if not flushed and not _is_full(producer, unit, limits):
                    yield _Pair(before, unit, since_ns, limits.delay_ms)


def _is_full(producer: Producer, unit: Unit, limits: Limits) -> bool:
    """Return whether a batch, or the one before it, came to its messages or bytes."""
    before, after = producer.units[unit.index - 1], next(iter(producer.units[unit.index + 1 : unit.index + 2]), None)
    return bool(limits.reached_by(before, unit, headers=True) or limits.reached_by(unit, after, headers=True))


def _judge_apart(timeline: Timeline, pair: _Pair) -> Says:
    before, unit, since_ns, delay_ms = pair
    if timeline.bounds.is_before("batch-delay", before.first.t_ns + delay_ms * MS, unit.first.t_ns):
        for until_ns in (since_ns, unit.first.t_ns):
            timeline.bounds.check_fair("batch-delay", since_ns, until_ns, what="whether a batch left too early")
        yield breach(
            "too-early",
            f"{unit.line}: the batch of messages {unit.numbers[0]} to {unit.numbers[-1]} left at "
            f"{ms(unit.first.t_ns)}, when its queue was full; expected it to wait for its delay of {delay_ms} ms, "
            "since it had reached no limit of messages or bytes; the one before it had left at "
            f"{ms(before.first.t_ns)}",
            *(before.first, unit.first),
        )
