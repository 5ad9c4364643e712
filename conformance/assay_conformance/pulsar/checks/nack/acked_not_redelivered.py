from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import acked_entries, elapsed, of_batch, plain_acks
from assay_conformance.history.events import first_of
from assay_conformance.model.event import Closed, ClosedBy, Event, Frame, Invoke
from assay_conformance.pulsar.checks.nack._windows import window_of
from assay_conformance.pulsar.timeline import (
    CUMULATIVE,
    REDELIVER,
    Consumer,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ms,
)
from assay_conformance.pulsar.timeline.moments import ArrivedAtBroker, SessionOver, SettleCalled, named_by


class _Acked(NamedTuple):
    """An entry that was nacked, and then acknowledged by an ACK that came to the broker. `until`: what may bring it
    back all the same."""

    consumer: Consumer
    entry: Entry
    nack: Invoke
    ack: Frame
    until: Event | None


def _acked(timeline: Timeline) -> Iterator[_Acked]:
    """Yield what was acknowledged. A broker takes no ACK of a consumer that it has closed."""
    for consumer in timeline.nacking:
        moments, nacked, called = timeline.moments(consumer), dict[Entry, Invoke](), set[Entry]()
        ends = [one.event for one in moments if isinstance(one, SessionOver) and _forgets(one.event)]
        for moment in moments:
            match moment:
                case SettleCalled(event, call, session) if session is not None and not of_batch(
                    call.message.message_id
                ):
                    if moment.is_nack:
                        nacked.setdefault(call.entry, event)
                    elif not call.cumulative and call.entry in nacked:
                        called.add(call.entry)
                case ArrivedAtBroker(ack, session) if not moment.is_request and not session.had_ended(ack):
                    if plain_acks(ack) and ack.ack_type != CUMULATIVE:
                        until = first_of(*(end for end in ends if end.seq > ack.seq))
                        for entry in called.intersection(acked_entries(session, ack)):
                            yield _Acked(consumer, entry, nacked[entry], ack, until)
                            called.discard(entry)


def _forgets(event: Event) -> bool:
    """Return whether it brings acknowledged messages back by intent, or a broker ended the connection: it may have
    ended itself, with acknowledgments it had not written."""
    by_intent = isinstance(event, Frame) and event.command in ("SEEK", "UNSUBSCRIBE")
    return by_intent or (isinstance(event, Closed) and event.by is ClosedBy.BROKER)


@check("nack.acked-not-redelivered", of=_acked)
def acked_not_redelivered(timeline: Timeline, acked: _Acked) -> Says:
    """nack.acked-not-redelivered: a message that is acknowledged after a negative acknowledgment, before its delay has
    passed, is not delivered again.

    The REDELIVER may still be sent. What the broker had dispatched before the ACK reached it may still arrive, and so
    may what had been requested by then. A receive that ended after the delay shows that nothing came.
    """
    consumer, entry, nack, ack, until = acked
    copies, window = timeline.copies(consumer, entry), window_of(timeline.view, consumer)
    written = [timeline.written(copy.frame).seq for copy in copies]
    got = sorted((message for copy in copies for message in copy.received), key=lambda one: one.seq)
    later = [one for one in got if one.seq > ack.seq]
    requests = [one.seq for one in _requests(timeline, acked)]
    is_awaited = bool(requests) and not any(requests[-1] < seq < ack.seq for seq in written)
    allowed = sum(seq < ack.seq for seq in written) - (len(got) - len(later)) + is_awaited
    again = next((one for one in later[max(0, allowed) :] if until is None or one.seq < until.seq), None)
    over = first_of(until, again)
    shown_ns = None if window is None or requests else nack.t_ns + window.latest_ns
    for end in timeline.events.completions_of(consumer.handle, "receive") if shown_ns is not None else ():
        if end.seq > ack.seq and end.t_ns >= (shown_ns or 0) and (over is None or end.seq < over.seq):
            yield Exercised(end)
            break
    if again is not None:
        dispatch = next((copy.frame for copy, seq in zip(copies, written, strict=True) if seq > ack.seq), None)
        yield breach(
            "redelivered-after-ack",
            f"the ACK of {entry} reached the broker at {ms(ack.t_ns)}, {elapsed(ack.t_ns, nack.t_ns)} after it was "
            f"nacked; expected no redelivery; consumer {consumer.handle} received it again at {ms(again.t_ns)}",
            *(ack, dispatch, again),
        )


def _requests(timeline: Timeline, acked: _Acked) -> Iterator[Frame]:
    """Yield the requests for its redelivery that had come to the broker."""
    for session, frame in timeline.frames_of(acked.consumer, REDELIVER):
        is_its = session.topic == acked.entry.topic and (not frame.ids or acked.entry in named_by(frame, session))
        if is_its and frame.at_broker and acked.nack.seq < frame.seq < acked.ack.seq:
            yield frame
