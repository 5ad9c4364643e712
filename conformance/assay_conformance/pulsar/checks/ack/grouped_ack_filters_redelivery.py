from __future__ import annotations

from collections import Counter

from assay_conformance.checks.consumption import acked_entries, holds_acks, of_batch
from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.checks.ack._held_acks import HeldAck, judge_delivered_again
from assay_conformance.pulsar.timeline import (
    Call,
    Consumer,
    ConsumerSession,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    each,
    ms,
)
from assay_conformance.pulsar.timeline.moments import (
    AckWritten,
    Delivered,
    Dispatched,
    SessionOver,
    SettleCalled,
    SettleCompleted,
)
from assay_conformance.pulsar.timeline.permits import queue_of


class _Walk:
    """Of the messages of one consumer. `reached`: topic -> the furthest cumulative ack: what it covers stays covered
    when its ACK has left. `copies`: how often an entry came that was not delivered yet. `used`: messages that each
    session had to drop."""

    def __init__(self, timeline: Timeline, consumer: Consumer) -> None:
        self._timeline, self._consumer = timeline, consumer
        self._held: dict[Entry, HeldAck] = {}
        self._reached: dict[str, Call] = {}
        self._copies: Counter[Entry] = Counter()
        self._used: Counter[int] = Counter()
        self._holds = holds_acks(timeline.view, consumer)
        self._seeks = [call.seq for call in timeline.events.invokes_of(consumer.handle, "seek")]

    def says(self) -> Says:
        for moment in self._timeline.moments(self._consumer):
            if isinstance(moment, SettleCalled):
                if not moment.is_nack and moment.session is not None and not of_batch(moment.call.message.message_id):
                    self._held.setdefault(moment.entry, HeldAck(moment.call, self._copies[moment.entry]))
            elif isinstance(moment, SettleCompleted):
                self._is_called(moment)
            elif isinstance(moment, Dispatched) and moment.event.to_receiver:
                yield from self._comes(moment)
            elif isinstance(moment, Delivered):
                yield from self._is_handed(moment)
            elif isinstance(moment, AckWritten) and not moment.is_cumulative:
                yield from self._is_acked(moment)
            elif isinstance(moment, SessionOver):
                yield from self._ends(moment)

    def _is_called(self, called: SettleCompleted) -> None:
        call = called.call
        held = self._held.get(call.entry)
        if held is not None and held.call.operation is call.operation:
            held.taken = True
        sought = any(call.invoke.seq < seek < called.event.seq for seek in self._seeks)
        if not self._holds or not call.cumulative or of_batch(call.message.message_id) or sought:
            return
        reached = self._reached.get(call.entry.topic)
        if reached is None or reached.entry < call.entry:
            self._reached[call.entry.topic] = call

    def _comes(self, sent: Dispatched) -> Says:
        frame, meta = sent.event, sent.event.meta
        plain = meta is not None and not meta.batch and meta.chunk_id is None and frame.intact is not False
        held = self._covering(sent.entry) if plain else None
        if held is None or held.again is not None:
            self._copies[sent.entry] += 1
            self._held.pop(sent.entry, None)
            return
        held.again = frame
        if held.call.cumulative:
            yield from self._is_certain(sent.session, held, frame)

    def _covering(self, entry: Entry) -> HeldAck | None:
        """Return the ack, held as far as is known, that covers this entry; a cumulative one covers all before it."""
        reached = self._reached.get(entry.topic)
        if reached is not None and entry <= reached.entry:
            self._held[entry] = HeldAck(reached, self._copies[entry], taken=True)
        held = self._held.get(entry)
        return held if held is not None and held.taken else None

    def _is_handed(self, moment: Delivered) -> Says:
        held = self._held.get(moment.entry)
        if held is None or held.again is None or held.stale > 0:
            self._copies[moment.entry] = max(0, self._copies[moment.entry] - 1)
            if held is not None:
                held.stale = max(0, held.stale - 1)
            return
        held.delivered = moment.event if held.certain else held.delivered or moment.event
        if held.certain:
            yield from self._delivered_again(held)

    def _delivered_again(self, held: HeldAck) -> Says:
        self._held.pop(held.call.entry, None)
        yield from each([held], judge_delivered_again, self._timeline)

    def _is_acked(self, wrote: AckWritten) -> Says:
        """Judge an ACK. A message was covered for certain if it left a good while after the message had come again."""
        for entry in acked_entries(wrote.session, wrote.event):
            held = self._held.get(entry)
            if held is None or held.call.cumulative:
                continue
            again, bounds = held.again, self._timeline.bounds
            if again is not None and bounds.is_past("crossing", again.t_ns, wrote.event.t_ns):
                yield from self._is_certain(wrote.session, held, wrote.event)
            else:
                del self._held[entry]

    def _is_certain(self, session: ConsumerSession, held: HeldAck, event: Event) -> Says:
        held.certain = True
        yield Exercised(event)
        if held.delivered is None:
            self._used[id(session)] += 1
        else:
            yield from self._delivered_again(held)

    def _ends(self, over: SessionOver) -> Says:
        session, end = over.session, over.event
        dropped = [held.again for held in self._held.values() if held.certain and held.again is not None]
        used = self._used.pop(id(session), 0)
        if dropped and isinstance(end, Frame):
            yield from self._starved(session, dropped[-1], used, end)
        self._held.clear()
        if isinstance(end, Frame) and end.command in ("SEEK", "UNSUBSCRIBE"):
            self._reached.pop(session.topic, None)

    def _starved(self, session: ConsumerSession, again: Frame, used: int, end: Frame) -> Says:
        """Judge whether a permit never came back.

        That shows when none is left: everything granted was used, and nothing more is asked for.
        """
        account, ends = self._timeline.client_account(session), self._timeline.consumer_sessions.ends(session)
        since = max([session.request, *(one for one in ends if one.seq < end.seq)], key=lambda one: one.seq)
        before, then = account.at(since), account.at(end)
        granted, dispatched = then.granted - before.granted, then.messages - before.messages
        for message in self._timeline.received(self._consumer):
            entry = self._timeline.entry_of(message) if since.seq < message.seq < end.seq else None
            used += entry is not None and entry.topic == session.topic
        last = then.last_message
        if last is not None and 0 < granted <= dispatched <= used and queue_of(self._timeline.view, session):
            permits = f"{granted} permits; {dispatched} messages used them up"
            yield from each([last], _judge_starved, self._timeline, session, permits, again, end)


def _judge_starved(
    timeline: Timeline, session: ConsumerSession, permits: str, again: Frame, end: Frame, last: Frame
) -> Says:
    handle = -1 if session.consumer is None else session.consumer.handle
    if timeline.bounds.is_overdue("answer", last.t_ns, end.t_ns, what="a permit"):
        yield breach(
            "permit-not-returned",
            f"consumer {handle} had granted {permits} by {ms(last.t_ns)}, and had to drop one of these messages; "
            f"expected it to grant the permit of that again; it granted none until {ms(end.t_ns)}, with its queue "
            "empty",
            *(again, end),
        )


@check("ack.grouped-ack-filters-redelivery")
def grouped_ack_filters_redelivery(timeline: Timeline) -> Says:
    """ack.grouped-ack-filters-redelivery: a message that is redelivered while its acknowledgment is pending is dropped,
    and its permit returned."""
    for consumer in timeline.consumers:
        if any(call.invoke.verb == "ack" for call in timeline.calls(consumer)):
            yield from _Walk(timeline, consumer).says()
