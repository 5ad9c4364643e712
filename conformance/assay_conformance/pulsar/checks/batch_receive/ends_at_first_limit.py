from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from assay_conformance.model.event import Completion, Event, Frame, Invoke, Outcome, Overdue
from assay_conformance.pulsar.timeline import (
    MS,
    Consumer,
    ConsumerSession,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ms,
    queued_messages,
)
from assay_conformance.pulsar.timeline.batches import BATCH_RECEIVE, Limits, limits
from assay_conformance.pulsar.timeline.handlers import called_ns, done_ns


class _Call(NamedTuple):
    """A batch receive, how it ended or that it had not when its time was over, and its limits."""

    consumer: Consumer
    invoke: Invoke
    end: Completion | Overdue
    limits: Limits


def _calls(timeline: Timeline) -> Iterator[_Call]:
    for invoke in timeline.events.invokes(BATCH_RECEIVE):
        consumer, end = timeline.consumer(invoke.handle), timeline.end_or_overdue(invoke.op)
        is_over = isinstance(end, Overdue) or (end is not None and end.outcome is Outcome.OK)
        if consumer is not None and end is not None and is_over and not timeline.closing_before(consumer, end):
            yield _Call(consumer, invoke, end, limits(timeline, consumer))


@check("batch-receive.ends-at-first-limit", of=_calls)
def ends_at_first_limit(timeline: Timeline, call: _Call) -> Says:
    """batch-receive.ends-at-first-limit: a batch receive ends when its limit of messages or bytes is met, or its
    time-out has passed, with the messages that have arrived; not before.

    Whether it ends too soon is judged where the limit of bytes cannot have been met, whatever lies in the client.
    """
    since_ns, seen_ns = _times(call)
    what = f"a batch receive of consumer {call.consumer.handle} was called at {ms(since_ns)}"
    ended = "it had not ended by" if isinstance(call.end, Overdue) else "it ended at"
    timeout_ns = call.limits.timeout_ms * MS
    full = _full(timeline, call)
    if timeout_ns and timeline.bounds.is_overdue("answer", since_ns, seen_ns, due_ns=since_ns + timeout_ns):
        expected = f"expected it to end within {call.limits.timeout_ms} ms"
        yield breach("late", f"{what}; {expected}; {ended} {ms(seen_ns)}", call.invoke, call.end)
    elif full is not None and _waited(timeline, call, full):
        expected = f"expected it to end when {call.limits.messages} messages were there, at {ms(full.t_ns)}"
        yield breach("waits-when-full", f"{what}; {expected}; {ended} {ms(seen_ns)}", call.invoke, full, call.end)
    elif isinstance(call.end, Completion) and _is_early(timeline, call):
        expected = f"expected it to wait {call.limits.timeout_ms} ms for more"
        yield breach("too-early", f"{what}; {expected}; {ended} {ms(seen_ns)}", call.invoke, call.end)
    elif isinstance(call.end, Completion):
        yield Exercised(call.end)


def _times(call: _Call) -> tuple[int, int]:
    if isinstance(call.end, Overdue):
        return call.invoke.t_ns, call.end.t_ns
    return called_ns(call.end), done_ns(call.end)


def _full(timeline: Timeline, call: _Call) -> Frame | None:
    """Return the MESSAGE with which as many messages as a batch may have lay in the client; None where they never did.

    Only messages count that were not delivered before.
    """
    most, there = call.limits.messages, 0
    first = _first_message(timeline, call)
    for delivery in queued_messages(timeline, call.consumer, first) if most else ():
        there += len(delivery.frame.members)
        if there >= most:
            return delivery.frame
    return None


def _first_message(timeline: Timeline, call: _Call) -> Event:
    """Return what the batch begins with; its end where it is empty."""
    count = (call.end.count or 0) if isinstance(call.end, Completion) else 0
    before = [message for message in timeline.received(call.consumer) if message.seq < call.end.seq]
    return before[-count] if count else call.end


def _waited(timeline: Timeline, call: _Call, full: Frame) -> bool:
    since_ns, seen_ns = _times(call)
    return timeline.bounds.is_overdue("answer", max(since_ns, full.t_ns), seen_ns, what="the end of a batch receive")


def _is_early(timeline: Timeline, call: _Call) -> bool:
    since_ns, seen_ns = _times(call)
    waits = timeline.bounds.is_before("time-out-early", since_ns + call.limits.timeout_ms * MS, seen_ns)
    most, count = call.limits.full_with, call.end.count or 0 if isinstance(call.end, Completion) else 0
    if not call.limits.timeout_ms or not waits or (most and count >= most):
        return False
    return not 0 < call.limits.bytes <= _most_bytes_there(timeline, call)


def _most_bytes_there(timeline: Timeline, call: _Call) -> float:
    """Return how many bytes may have lain in the client: what came, and had not been handed over before this batch.

    What came before its consumer was admitted to the topic again is dropped then. How much there is of a message that
    cannot be taken apart is not known.
    """
    there, first = 0.0, _first_message(timeline, call)
    for delivery in timeline.deliveries:
        session, frame = delivery.session, delivery.frame
        if session.consumer is not call.consumer or not delivery.came or frame.seq > call.end.seq:
            continue
        last = call.consumer.last_on(session.topic, call.invoke)
        if last is not None and last is not session and _is_admitted(timeline, last, call.invoke):
            continue
        handed = sum(message.size for message in delivery.received if message.seq < first.seq)
        there += max(0, sum(member.size for member in frame.members) - handed) if frame.members else inf
    return there


def _is_admitted(timeline: Timeline, session: ConsumerSession, at: Event) -> bool:
    """Return whether the client knows for sure that the consumer was admitted."""
    admitted = session.admitted
    return admitted is not None and timeline.bounds.is_past("in-flight", admitted.t_ns, at.t_ns)
