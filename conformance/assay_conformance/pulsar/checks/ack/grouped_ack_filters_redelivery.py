"""ack.grouped-ack-filters-redelivery"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from assay_conformance.checks.consumption import acked_entries, from_client, holds_acks, of_batch
from assay_conformance.model.event import Event, Frame, Received
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
    ms,
)
from assay_conformance.pulsar.timeline.courses import Asked, Called, Handed, Over, Sent, Wrote
from assay_conformance.pulsar.timeline.permits import queue_of


@dataclass(slots=True, eq=False)
class _Held:
    """An ack. `taken`: the client said so; `again`: its message came once more; `handed`: the application got it then.

    `stale`: earlier copies of the message that the application may still get. `certain`: it had to be dropped.
    """

    call: Call
    stale: int
    taken: bool = False
    again: Frame | None = None
    handed: Received | None = None
    certain: bool = False


class _Dropped(NamedTuple):
    """By this event it is certain that a message which came again had to be dropped."""

    event: Event


class _HandedOver(NamedTuple):
    """It was handed over instead."""

    call: Call
    again: Frame
    handed: Received


class _Starved(NamedTuple):
    """A session with a message that had to be dropped (`again`), and of which every permit was used when it ended."""

    session: ConsumerSession
    again: Frame
    last: Frame
    granted: int
    dispatched: int
    end: Frame


Subject = _Dropped | _HandedOver | _Starved


class _Course:
    """Of the messages of one consumer. `reached`: topic -> the furthest cumulative ack: what it covers stays covered
    when its ACK has left. `copies`: how often an entry came that was not handed over yet. `used`: messages that each
    session had to drop."""

    def __init__(self, timeline: Timeline, consumer: Consumer) -> None:
        self._timeline, self._consumer = timeline, consumer
        self._held: dict[Entry, _Held] = {}
        self._reached: dict[str, Call] = {}
        self._copies: Counter[Entry] = Counter()
        self._used: Counter[int] = Counter()
        self._holds = holds_acks(timeline.view, consumer)
        seeks = timeline.events.invokes("seek")
        self._seeks = [call.seq for call in seeks if call.handle == consumer.handle]

    def subjects(self) -> Iterator[Subject]:
        """All of it that is judged."""
        for moment in self._timeline.course(self._consumer):
            if isinstance(moment, Asked):
                if not moment.is_nack and moment.session is not None and not of_batch(moment.call.message.message_id):
                    self._held.setdefault(moment.entry, _Held(moment.call, self._copies[moment.entry]))
            elif isinstance(moment, Called):
                self._is_called(moment)
            elif isinstance(moment, Sent) and moment.event.to_receiver:
                yield from self._comes(moment)
            elif isinstance(moment, Handed):
                yield from self._is_handed(moment)
            elif isinstance(moment, Wrote) and not moment.is_cumulative:
                yield from self._is_acked(moment)
            elif isinstance(moment, Over):
                yield from self._ends(moment)

    def _is_called(self, called: Called) -> None:
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

    def _comes(self, sent: Sent) -> Iterator[Subject]:
        frame, meta = sent.event, sent.event.meta
        plain = meta is not None and not meta.batch and meta.chunk_id is None and frame.intact is not False
        held = self._covering(sent.entry) if plain else None
        if held is None or held.again is not None:
            self._copies[sent.entry] += 1
            self._held.pop(sent.entry, None)
            return
        held.again = frame
        if held.call.cumulative:
            yield from self._is_certain(sent.session, held, frame, frame)

    def _covering(self, entry: Entry) -> _Held | None:
        """The ack, held as far as is known, that covers this entry; a cumulative one covers all before it."""
        reached = self._reached.get(entry.topic)
        if reached is not None and entry <= reached.entry:
            self._held[entry] = _Held(reached, self._copies[entry], taken=True)
        held = self._held.get(entry)
        return held if held is not None and held.taken else None

    def _is_handed(self, moment: Handed) -> Iterator[Subject]:
        held = self._held.get(moment.entry)
        if held is None or held.again is None or held.stale > 0:
            self._copies[moment.entry] = max(0, self._copies[moment.entry] - 1)
            if held is not None:
                held.stale = max(0, held.stale - 1)
            return
        held.handed = held.handed or moment.event
        if held.certain:
            yield self._handed_over(held, held.again, moment.event)

    def _handed_over(self, held: _Held, again: Frame, handed: Received) -> _HandedOver:
        self._held.pop(held.call.entry, None)
        return _HandedOver(held.call, again, handed)

    def _is_acked(self, wrote: Wrote) -> Iterator[Subject]:
        """A message was covered for certain when the ACK left a good while after it had come again."""
        for entry in acked_entries(wrote.session, wrote.event):
            held = self._held.get(entry)
            if held is None or held.call.cumulative:
                continue
            again, bounds = held.again, self._timeline.bounds
            if again is not None and bounds.is_past("crossing", again.t_ns, wrote.event.t_ns):
                yield from self._is_certain(wrote.session, held, again, wrote.event)
            else:
                del self._held[entry]

    def _is_certain(self, session: ConsumerSession, held: _Held, again: Frame, event: Event) -> Iterator[Subject]:
        held.certain = True
        yield _Dropped(event)
        if held.handed is None:
            self._used[id(session)] += 1
        else:
            yield self._handed_over(held, again, held.handed)

    def _ends(self, over: Over) -> Iterator[Subject]:
        session, end = over.session, over.event
        dropped = [held.again for held in self._held.values() if held.certain and held.again is not None]
        used = self._used.pop(id(session), 0)
        if dropped and isinstance(end, Frame):
            yield from self._starved(session, dropped[-1], used, end)
        self._held.clear()
        if isinstance(end, Frame) and end.command in ("SEEK", "UNSUBSCRIBE"):
            self._reached.pop(session.topic, None)

    def _starved(self, session: ConsumerSession, again: Frame, used: int, end: Frame) -> Iterator[Subject]:
        """A permit that never comes back shows when none is left: everything granted was used, and nothing more is
        asked for."""
        sessions = self._timeline.consumer_sessions
        earlier = [one.seq for one in sessions.ends(session) if one.seq < end.seq]
        since = max([session.request.seq, *earlier])
        frames = [one for one in sessions.frames(session, "FLOW", "MESSAGE") if since < one.seq < end.seq]
        granted = sum(one.permits or 0 for one in frames if one.command == "FLOW" and from_client(one))
        came = [one for one in frames if one.command == "MESSAGE" and one.to_receiver]
        dispatched = sum(one.messages for one in came)
        for message in self._timeline.received(self._consumer):
            entry = self._timeline.entry_of(message) if since < message.seq < end.seq else None
            used += entry is not None and entry.topic == session.topic
        if came and 0 < granted <= dispatched <= used and queue_of(self._timeline.view, session):
            yield _Starved(session, again, came[-1], granted, dispatched, end)


def _subjects(timeline: Timeline) -> Iterator[Subject]:
    for consumer in timeline.consumers:
        if any(call.invoke.verb == "ack" for call in timeline.calls(consumer)):
            yield from _Course(timeline, consumer).subjects()


@check("ack.grouped-ack-filters-redelivery", of=_subjects)
def grouped_ack_filters_redelivery(timeline: Timeline, subject: Subject) -> Says:
    """ack.grouped-ack-filters-redelivery: a message that is redelivered while its acknowledgment is pending is dropped,
    and its permit returned."""
    if isinstance(subject, _Dropped):
        yield Exercised(subject.event)
    elif isinstance(subject, _HandedOver):
        call, again, handed = subject
        timeline.bounds.check_fair("crossing", again.t_ns, handed.t_ns, what="whether an ACK and a message crossed")
        yield breach(
            "handed-over-again",
            f"consumer {call.consumer.handle} was asked at {ms(call.called_ns)} to acknowledge {call.entry}; "
            f"{again.ids[0].name} came again at {ms(again.t_ns)} and was handed over at {ms(handed.t_ns)}, expected it "
            "to be dropped",
            *(call.invoke, again, handed),
        )
    else:
        session, again, last, granted, dispatched, end = subject
        handle = -1 if session.consumer is None else session.consumer.handle
        if timeline.bounds.is_overdue("answer", last.t_ns, end.t_ns, what="a permit"):
            yield breach(
                "permit-not-returned",
                f"consumer {handle} had granted {granted} permits; {dispatched} messages used them up by "
                f"{ms(last.t_ns)}, one of which it had to drop; expected its permit to be granted again; it granted "
                f"none until {ms(end.t_ns)}, with its queue empty",
                *(again, end),
            )
