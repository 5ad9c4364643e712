from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from assay_conformance.checks.consumption import in_force, is_torn, to_client
from assay_conformance.model.event import Closed, ClosedBy, Event, Invoke, Outcome, Received
from assay_conformance.model.payload import is_identified
from assay_conformance.pulsar.checks._shut_out import refused_for_good
from assay_conformance.pulsar.timeline import (
    MS,
    Breach,
    Consumer,
    Exercised,
    Says,
    Send,
    Timeline,
    breach,
    check,
    each,
    known_owner,
    ms,
)
from assay_conformance.pulsar.timeline.loading import ends_of_brokers

_ORDERED_TYPES = ("exclusive", "failover")
"""Subscription types that deliver a topic in order."""

_LOOKUPS = ("PARTITIONED_METADATA", "LOOKUP", "PARTITIONED_METADATA_RESPONSE", "LOOKUP_RESPONSE")


@dataclass(slots=True)
class _Read:
    """What a consumer received from one producer: the numbers of the messages, and the furthest one."""

    numbers: set[int] = field(default_factory=set)
    furthest: Received | None = None


class _Reordered(NamedTuple):
    """A message came for the first time behind a later one of its producer."""

    earlier: Received
    message: Received
    handle: int


class _Missed(NamedTuple):
    """A message that had been reported as sent had not come when the last receive ended with less than it asked for;
    since `since_ns` nothing else kept it from coming."""

    send: Send
    end: Event
    since_ns: int


@check("topics.ownership-change-loses-nothing")
def ownership_change_loses_nothing(timeline: Timeline) -> Says:
    """topics.ownership-change-loses-nothing: after the broker closed the producers and consumers of a topic, or ended,
    everything that was reported as sent is received, in the order in which it was sent.

    Judged are unpartitioned topics; consumers that are alone on an exclusive or failover subscription from its
    beginning, and neither nacked nor called seek; and producers that send in order. Not judged after a fault that
    damaged or dropped frames of either: what was lost is redelivered with a later connection, and lost permits are
    granted with the next one. Nor after a final error for the topic, nor after a lost or damaged look-up, whose answer
    the client may wait for. A consumer that is closed because its subscription was sought was not closed by a change of
    owner.
    """
    moves = timeline.once(_moves)
    for consumer in timeline.consumers if moves else ():
        topic = consumer.topics[0] if len(consumer.topics) == 1 else ""
        if topic in moves and _is_ordered(timeline, consumer):
            reading = _Reading(timeline, consumer, moves[topic])
            yield from map(Exercised, reading.arrived)
            yield from each(reading.reordered, _is_out_of_order, timeline, consumer)
            for said in each(reading.missed(), _is_lost, timeline, consumer):
                yield said
                if isinstance(said, Breach):
                    break


def _moves(timeline: Timeline) -> dict[str, list[Event]]:
    """Return by topic what showed that its owner changed, in order.

    The clients of a broker that ended see only the end of their connections. A broker closes the consumers of a
    subscription that was sought, too.
    """
    found: dict[str, list[Event]] = {}
    for topic in timeline.view.case.topology.topics:
        found[topic.name] = [*ends_of_brokers(timeline.view.case, timeline.events)]
    sought: dict[tuple[str, str], int] = {}
    for frame in timeline.events.frames("SEEK", "CLOSE_PRODUCER", "CLOSE_CONSUMER"):
        consumer = timeline.consumer_sessions.of(frame)
        session = timeline.session_of(frame) or consumer
        last_seek = -1 if consumer is None else sought.get((consumer.topic, consumer.subscription), -1)
        if frame.command == "SEEK" and consumer is not None:
            sought[consumer.topic, consumer.subscription] = frame.seq
        elif session is not None and to_client(frame) and last_seek < session.request.seq:
            found.setdefault(session.topic, []).append(frame)
    return {topic: sorted(events, key=_seq) for topic, events in found.items() if events}


def _is_ordered(timeline: Timeline, consumer: Consumer) -> bool:
    """Return whether messages are ordered. A client that gave opening it up may have been admitted all the same."""
    end = timeline.end_of(consumer.invoke.op)
    topic = timeline.view.case.topology.named(consumer.topics[0]) if consumer.topics else None
    kind = in_force(timeline.view, consumer, "subscription_type") or "exclusive"
    is_open = end is not None and end.outcome is Outcome.OK
    return is_open and topic is not None and topic.persistent and not topic.partitions and kind in _ORDERED_TYPES


class _Reading:
    """What a consumer received while its topic changed its owner. `arrived`: of each change, the first new message that
    it received afterwards."""

    def __init__(self, timeline: Timeline, consumer: Consumer, moves: list[Event]) -> None:
        self._timeline, self._consumer = timeline, consumer
        self._reads: dict[int, _Read] = {}
        self._until_seq = min((event.seq for event in self._ends()), default=None)
        self.arrived: list[Received] = []
        self.reordered: list[_Reordered] = []
        move = bisect_right(moves, consumer.invoke.seq, key=_seq)
        for message in timeline.received(consumer):
            identity = timeline.own(message.identity)
            if identity is None:
                continue
            read = self._reads.setdefault(identity.handle, _Read())
            earlier, is_new = read.furthest, identity.number not in read.numbers
            read.numbers.add(identity.number)
            if earlier is None or earlier.identity is None or identity.number > earlier.identity.number:
                read.furthest = message
            elif is_new and moves[0].seq < message.seq and self._is_judged(message):
                self.reordered.append(_Reordered(earlier, message, identity.handle))
            if is_new and move < len(moves) and moves[move].seq < message.seq and self._is_judged(message):
                self.arrived.append(message)
                move = bisect_right(moves, message.seq, key=_seq)

    def _ends(self) -> Iterator[Event]:
        """Yield what ends the order in which messages come to it, or makes it unknown."""
        timeline, consumer = self._timeline, self._consumer
        calls = (call for verb in ("nack", "seek") for call in timeline.events.invokes(verb))
        yield from (call for call in calls if call.handle == consumer.handle)
        others = (one for one in timeline.consumers if one is not consumer)
        yield from (other.invoke for other in others if other.subscription == consumer.subscription)
        for session in consumer.sessions:
            frames = timeline.consumer_sessions.frames(session, "MESSAGE", "FLOW")
            yield from (one for one in frames if is_torn(one) and known_owner(session, one) is consumer)

    def _is_judged(self, at: Event | None) -> bool:
        """Return whether it still is at an event, or at the end, and its client was admitted and knows it."""
        sessions = self._consumer.sessions
        last = bisect_left(sessions, at.seq, key=lambda one: one.request.seq) if at is not None else len(sessions)
        admitted = sessions[last - 1].admitted if last else None
        is_in = admitted is not None and (at is None or admitted.seq < at.seq)
        return is_in and (self._until_seq is None or (at is not None and at.seq < self._until_seq))

    def missed(self) -> Iterator[_Missed]:
        """Yield the first missed message of each producer."""
        timeline, consumer = self._timeline, self._consumer
        topic = consumer.topics[0]
        receives = [end for end in timeline.events.completions("receive") if end.handle == consumer.handle]
        is_void = topic in timeline.once(refused_for_good) or not timeline.view.is_dispatched_at_once(topic)
        sends = timeline.events.invokes("send")
        if is_void or not receives or receives[-1] not in timeline.starved or not self._is_judged(None):
            return
        if any(map(is_torn, timeline.events.frames(*_LOOKUPS))) or not sends or consumer.invoke.seq > sends[0].seq:
            return
        end, receive = receives[-1], timeline.call_of(receives[-1].op)
        since_ns = self._may_come_ns()
        for handle, opening in timeline.openings.items():
            got = self._reads.get(handle, _Read()).numbers
            its = timeline.sends_of(handle) if receive and opening.args.get("topic", topic) == topic else ()
            due = (one for one in its if receive is not None and _had_been_reported(one, receive))
            send = next((one for one in due if one.invoke.number not in got), None)
            if send is not None and receive is not None:
                yield _Missed(send, end, max(receive.t_ns, since_ns))

    def _may_come_ns(self) -> int:
        """Return when the last message came, or a cut let it reconnect, or it was admitted.

        Other consumers may have delayed that. On a failover subscription the broker chooses the active consumer only
        after a delay.
        """
        timeline, consumer = self._timeline, self._consumer
        cuts = (one.t_ns for one in timeline.events.of(Closed) if one.by is ClosedBy.FAULT)
        fails_over = in_force(timeline.view, consumer, "subscription_type") == "failover"
        delay_ns = timeline.view.case.topology.settings.failover_delay_ms * MS if fails_over else 0
        active = (one.ready.t_ns + delay_ns for one in consumer.sessions if one.ready is not None)
        return max(chain([0], cuts, active, (one.t_ns for one in timeline.received(consumer)[-1:])))


def _had_been_reported(send: Send, receive: Invoke) -> bool:
    end = send.completion
    reported = end is not None and end.outcome is Outcome.OK and end.seq < receive.seq
    return reported and is_identified(send.invoke.size)


def _out_of_order(timeline: Timeline) -> dict[int, Invoke]:
    """Return by producer the first send that is delivered at a time of its own, or has a sequence id of its own."""
    found: dict[int, Invoke] = {}
    for call in timeline.events.invokes("send"):
        if {"deliver_after_ms", "deliver_at_ms", "sequence_id"} & call.args.keys():
            found.setdefault(call.handle or 0, call)
    return found


def _sends_in_order(timeline: Timeline, handle: int, at: Event) -> bool:
    """Return whether it sends in order.

    Raises `UnknownError` where a fault changed what it sent, or what it was answered.
    """
    keyed = timeline.view.producer_setting(handle, "batching_type") == "key_based"
    odd = timeline.once(_out_of_order).get(handle)
    if keyed or handle in timeline.bursts or handle not in timeline.openings or (odd is not None and odd.seq < at.seq):
        return False
    timeline.check_untorn(handle, at)
    timeline.check_untampered(handle)
    timeline.check_forged_receipts(at)
    return True


def _is_out_of_order(timeline: Timeline, consumer: Consumer, reordered: _Reordered) -> Says:
    earlier, message, handle = reordered
    if message.identity is not None and earlier.identity is not None and _sends_in_order(timeline, handle, message):
        yield breach(
            "reordered",
            f"consumer {consumer.handle} received message {message.identity.number} of producer {handle} at "
            f"{ms(message.t_ns)} for the first time; expected it before message {earlier.identity.number}, which came "
            f"at {ms(earlier.t_ns)}; the topic's owner changed or its broker ended in between",
            *(earlier, message),
        )


def _is_lost(timeline: Timeline, consumer: Consumer, missed: _Missed) -> Says:
    send, end, since_ns = missed
    handle, reported = send.invoke.handle or 0, send.completion
    if not timeline.bounds.is_past("answer", since_ns, end.t_ns) or reported is None:
        return
    if not _sends_in_order(timeline, handle, timeline.ended):
        return
    if timeline.bounds.is_missing("answer", since_ns, end.t_ns, what="a message"):
        yield breach(
            "lost",
            f"message {send.invoke.number} of producer {handle} was reported as sent at {ms(reported.t_ns)}; then the "
            f"topic's owner changed or its broker ended; expected consumer {consumer.handle} to receive it, and its "
            f"last receive ended at {ms(end.t_ns)} without it",
            *(reported, end),
        )


def _seq(event: Event) -> int:
    return event.seq
