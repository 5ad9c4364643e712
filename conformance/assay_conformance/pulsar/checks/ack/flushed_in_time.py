from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from assay_conformance.checks.consumption import LEAST_INTERVAL_MS, elapsed
from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.checks.ack._owed import Owed, owed_since
from assay_conformance.pulsar.timeline import (
    MS,
    AckCall,
    Consumer,
    ConsumerSession,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    each,
    ms,
)

SAME_FLUSH_NS: Final = 5 * MS
"""ACK frames closer than this left in one flush: a client may write one command an id."""


@check("ack.flushed-in-time")
def flushed_in_time(timeline: Timeline) -> Says:
    """ack.flushed-in-time: the ACK of a whole entry leaves no later than one interval after the call that asked for it
    ended, and ACKs of one interval leave together."""
    pending = [*_pending(timeline)]
    yield from each(pending, _leaves_in_time, timeline)
    yield from each(_sent_before_the_end(timeline), _judge_exercised)
    yield from each(_bunches(timeline, pending), _judge_grouped, timeline)


def _taken(timeline: Timeline) -> Iterator[tuple[AckCall, ConsumerSession, Event]]:
    """Return individual acks of whole entries that succeeded, by when."""
    calls = [ack for ack in timeline.ack_calls if ack.is_whole and not ack.call.cumulative]
    found = [(ack, ack.taken_on, ack.taken) for ack in calls if ack.taken_on is not None and ack.taken is not None]
    return iter(sorted(found, key=lambda one: one[2].seq))


def _is_out(timeline: Timeline, ack: AckCall, session: ConsumerSession, taken: Event) -> Frame | None:
    """Return an ACK that named its entry before the call had ended."""
    return timeline.written_acks(session).individual(ack.entry, taken)


def _sent_before_the_end(timeline: Timeline) -> Iterator[Frame]:
    for ack, session, taken in _taken(timeline):
        sent = _is_out(timeline, ack, session, taken)
        if sent is not None and sent.seq > ack.call.invoke.seq:
            yield sent


def _judge_exercised(sent: Frame) -> Says:
    yield Exercised(sent)


def _pending(timeline: Timeline) -> Iterator[Owed]:
    """Yield those owed that no successful cumulative ack makes superfluous."""
    reached: dict[int, list[AckCall]] = {}
    for ack in timeline.ack_calls:
        if ack.call.cumulative and ack.is_whole and ack.taken_on is not None:
            reached.setdefault(id(ack.taken_on), []).append(ack)
    asked = (one for one in _taken(timeline) if _is_out(timeline, *one) is None)
    for owed in owed_since(timeline, asked):
        then = owed.left or owed.over
        covering = (one for one in reached.get(id(owed.session), ()) if one.entry >= owed.ack.entry)
        if not any(one.taken is not None and one.taken.seq < then.seq for one in covering):
            yield owed


def _leaves_in_time(timeline: Timeline, owed: Owed) -> Says:
    ack, session, since, left, _ = owed
    interval, called_ns = timeline.ack_interval_ns(ack.call.consumer), ack.call.called_ns
    over = timeline.over_after(session, ack.call.consumer, since)
    then = left if left is not None and left.seq < over.seq else over
    if interval is None:
        return
    if not timeline.bounds.is_overdue("ack-flush", called_ns, then.t_ns, due_ns=called_ns + interval, what="an ACK"):
        if then is left:
            yield Exercised(left)
        return
    asked = f"consumer {ack.handle} was asked at {ms(called_ns)} to acknowledge {ack.entry}"
    if then is left:
        said = f"{asked}; its ACK left {elapsed(then.t_ns, called_ns)} later, expected within the group interval of "
        yield breach("flushed-late", f"{said}{interval // MS} ms", ack.call.invoke, then)
    else:
        said = f"{asked} and had sent no ACK for it by {ms(then.t_ns)}; the group interval is {interval // MS} ms"
        yield breach("never-flushed", said, ack.call.invoke, then)


def _bunches(timeline: Timeline, pending: list[Owed]) -> Iterator[tuple[Consumer, list[Frame]]]:
    """Yield by session the ACKs that settled something that was pending."""
    found: dict[tuple[int, int], tuple[Consumer, dict[int, Frame]]] = {}
    for owed in pending:
        consumer = owed.ack.call.consumer
        over = timeline.over_after(owed.session, consumer, owed.since)
        if owed.left is not None and owed.left.seq < over.seq:
            frames = found.setdefault((id(owed.session), over.seq), (consumer, {}))[1]
            frames[owed.left.seq] = owed.left
    for consumer, frames in found.values():
        yield consumer, [frames[seq] for seq in sorted(frames)]


def _judge_grouped(timeline: Timeline, bunch: tuple[Consumer, list[Frame]]) -> Says:
    """Judge whether acks are grouped.

    Three flushes in half an interval are no timer's work, unless a full group went at once.
    """
    consumer, frames = bunch
    interval_ms = timeline.setting(consumer, "ack_group_ms") or 0
    largest = timeline.setting(consumer, "ack_group_max")
    moments, began, ids = list[Frame](), None, 0
    for frame in frames if interval_ms >= LEAST_INTERVAL_MS else ():
        begins = began is None or frame.t_ns - began.t_ns >= SAME_FLUSH_NS
        if begins:
            began, ids = frame, 0
            moments = [*moments[-2:], frame]
        ids += len(frame.ids)
        if largest is not None and ids >= largest:
            # To an old broker a group goes one command an id.
            moments = moments[:-1] if moments and moments[-1] is began else moments
        elif begins and len(moments) == 3 and frame.t_ns - moments[0].t_ns < interval_ms * MS / 2:
            since_ns = moments[0].t_ns - interval_ms * MS
            timeline.bounds.check_fair("ack-flush", since_ns, frame.t_ns, what="whether acknowledgments are grouped")
            yield breach(
                "not-grouped",
                f"consumer {consumer.handle} sent acknowledgments at "
                f"{', '.join(ms(one.t_ns) for one in moments)}; expected one or two commands for them, since its "
                f"group interval is {interval_ms} ms",
                *moments,
            )
            moments = []
