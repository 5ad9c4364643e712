from __future__ import annotations

from assay_conformance.checks.consumption import in_force
from assay_conformance.model.event import Event, Frame, MessageId, Received, Sides
from assay_conformance.pulsar.checks.seek._hanging import never_ends
from assay_conformance.pulsar.checks.seek._seeking import (
    Sought,
    entry_named,
    lost_position,
    received_after,
    seeks,
    target_of,
)
from assay_conformance.pulsar.checks.seek._targets import Message, first_after, first_of, readable
from assay_conformance.pulsar.timeline import Entry, Exercised, Says, Timeline, breach, check, looked_ns, ms
from assay_conformance.pulsar.timeline.moments import Dispatched, ReceiveEnded, SessionOver, SettleCalled


@check("seek.starts-at-target", of=seeks, keeps_away=never_ends)
def starts_at_target(timeline: Timeline, sought: Sought) -> Says:
    """seek.starts-at-target: the first message after a seek is the one after its target, or the target itself with
    `start_inclusive`, or the first one published at the target time or later.

    Not judged where the application acknowledged something meanwhile, or a fault dropped a MESSAGE or may have: it is
    unknown on which connection a consumer's messages come then. Nor where a handler got messages of the new session
    before the call ended.
    """
    first = next(received_after(timeline, sought), None)
    arrived: dict[Entry, Frame] = {}
    for moment in timeline.moments(sought.consumer, after=sought.invoke):
        if moment.event.seq > sought.until or (first is not None and moment.event.seq > first.seq):
            break
        match moment:
            case SettleCalled():
                return
            case Dispatched(event, session, entry) if _is_behind(sought, event) and session in sought.sessions():
                if event.sides is not Sides.BOTH:
                    return
                arrived.setdefault(entry, event)
            case SessionOver():
                # Messages that arrived last on a lost connection may not have been read, and come again.
                gone = (moment.session.conn, moment.session.consumer_id)
                arrived = {key: one for key, one in arrived.items() if (one.conn, one.consumer_id) != gone}
            case ReceiveEnded():
                yield from _received_nothing(timeline, sought, moment, arrived)
    if first is not None and sought.command is not None and sought.command.seq < first.seq:
        yield from _first_received(timeline, sought, first)


def _is_behind(sought: Sought, event: Frame) -> bool:
    return sought.command is not None and event.seq > sought.command.seq


def _first_received(timeline: Timeline, sought: Sought, event: Received) -> Says:
    expected = _expected(timeline, sought, event)
    if expected is None or lost_position(sought.consumer, sought.invoke, event) or _began_early(timeline, sought):
        return
    got = Message(entry_named(sought, event), max(event.message_id.batch_index, 0))
    yield Exercised(event)
    if got != expected:
        yield breach(
            "wrong-start",
            f"consumer {sought.consumer.handle} sought {target_of(sought.invoke)}, which ended at "
            f"{ms(sought.ended_ns)}; expected {expected} as the first message after it; it received {got}",
            *(sought.invoke, sought.command, event),
        )


def _began_early(timeline: Timeline, sought: Sought) -> bool:
    """Return whether anything was delivered before the call had ended and after the consumer's new SUBSCRIBE."""
    again, end = next(sought.sessions(), None), sought.completion
    if again is None or end is None:
        return False
    return any(again.request.seq < one.seq < end.seq for one in timeline.received(sought.consumer))


def _received_nothing(timeline: Timeline, sought: Sought, receive: ReceiveEnded, arrived: dict[Entry, Frame]) -> Says:
    end, call, completion = receive.event, timeline.call_of(receive.event.op), sought.completion
    if not receive.is_short or end.count or call is None or completion is None or not sought.is_done(end):
        return
    expected = _expected(timeline, sought, end)
    came = None if expected is None or call.seq < completion.seq else arrived.get(expected.entry)
    if expected is None or came is None:
        return
    due_ns = looked_ns(timeline, sought.consumer, came.t_ns)
    if timeline.bounds.is_missing("answer", due_ns, end.t_ns, what="a message after a seek"):
        yield breach(
            "nothing-delivered",
            f"consumer {sought.consumer.handle} sought {target_of(sought.invoke)}, and {expected.entry} arrived after "
            f"it at {ms(came.t_ns)}; expected a receive to return it; one ended without a message at {ms(end.t_ns)}",
            *(sought.invoke, came, end),
        )


def _expected(timeline: Timeline, sought: Sought, at: Event) -> Message | None:
    """Return the message that comes first; None where the topic held none by then, does not hold the target, or holds
    what may come otherwise."""
    time_ms, id = sought.invoke.args.get("publish_time_ms"), sought.invoke.args.get("message_id")
    stored = readable(timeline, sought.topic, at)
    if stored is None:
        return None
    if time_ms is not None:
        return next((first_of(entry) for entry in stored if entry.meta.publish_time_ms >= time_ms), None)
    if id is None:
        return None
    inclusive = bool(in_force(timeline.view, sought.consumer, "start_inclusive"))
    return first_after(stored, MessageId(*id), inclusive=inclusive)
