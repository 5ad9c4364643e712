from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import in_force, is_torn, to_client
from assay_conformance.history.events import between, first_of, in_order
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
    looked_ns,
    ms,
)
from assay_conformance.pulsar.timeline.interruptions import LONGEST_FIRST_WAIT_MS
from assay_conformance.pulsar.timeline.loading import ends_of_brokers

_LOOKUPS = ("PARTITIONED_METADATA", "LOOKUP", "PARTITIONED_METADATA_RESPONSE", "LOOKUP_RESPONSE")


class _Reader(NamedTuple):
    """A consumer of a topic whose owner changed. `until`: what ends the order in which messages come to it, or makes
    that unknown."""

    consumer: Consumer
    topic: str
    changes: list[Event]
    until: Event | None

    def is_judged(self, at: Event) -> bool:
        """Return whether its order still holds at an event, and its client was admitted and knows it."""
        session = self.consumer.last_on(self.topic, at)
        admitted = None if session is None else session.admitted
        return admitted is not None and admitted.seq < at.seq and (self.until is None or at.seq < self.until.seq)


class _New(NamedTuple):
    """A message that came for the first time. `ahead`: a later one of its producer that had come already."""

    message: Received
    handle: int
    number: int
    ahead: Received | None


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
    granted with the next one. Nor after a final error for the topic, nor after a lost or damaged lookup, whose answer
    the client may wait for. A consumer that is closed because its subscription was sought was not closed by a change of
    owner.
    """
    for reader in _readers(timeline):
        new = list(_new(timeline, reader.consumer))
        behind = [one for one in new if reader.changes[0].seq < one.message.seq and reader.is_judged(one.message)]
        yield from map(Exercised, _arrived(reader, behind))
        yield from each((one for one in behind if one.ahead is not None), _judge_out_of_order, timeline)
        for said in each(_missed(timeline, reader, new), _judge_lost, timeline, reader):
            yield said
            if isinstance(said, Breach):
                break


def _readers(timeline: Timeline) -> Iterator[_Reader]:
    changes = timeline.once(_changes)
    for consumer in timeline.consumers if changes else ():
        topic = consumer.topics[0] if len(consumer.topics) == 1 else ""
        if topic in changes and _is_ordered(timeline, consumer):
            yield _Reader(consumer, topic, changes[topic], first_of(*_disturbances(timeline, consumer)))


def _changes(timeline: Timeline) -> dict[str, list[Event]]:
    """Return by topic what showed that its owner changed, in order.

    The clients of a broker that ended see only the end of their connections. A broker closes the consumers of a
    subscription that was sought, too.
    """
    ends = ends_of_brokers(timeline.view.case, timeline.events)
    found: dict[str, list[Event]] = {topic.name: [*ends] for topic in timeline.topology.topics}
    for close in filter(to_client, timeline.events.frames("CLOSE_PRODUCER", "CLOSE_CONSUMER")):
        consumer = timeline.consumer_sessions.of(close)
        session = timeline.session_of(close) or consumer
        seeks = [] if consumer is None else timeline.consumer_sessions.seeks(consumer.topic, consumer.subscription)
        if session is not None and not between(seeks, session.request, close):
            found.setdefault(session.topic, []).append(close)
    return {topic: in_order(events) for topic, events in found.items() if events}


def _is_ordered(timeline: Timeline, consumer: Consumer) -> bool:
    """Return whether messages are ordered. A client that gave opening it up may have been admitted all the same."""
    end, topic = timeline.end_of(consumer.invoke.op), timeline.topology.named(consumer.topics[0])
    is_open = end is not None and end.outcome is Outcome.OK and any(one.is_ordered for one in consumer.sessions)
    return is_open and topic is not None and topic.persistent and not topic.partitions


def _disturbances(timeline: Timeline, consumer: Consumer) -> Iterator[Event]:
    """Yield what ends the order in which messages come to a consumer, or makes it unknown."""
    yield from timeline.events.invokes_of(consumer.handle, "nack", "redeliver_all", "seek")
    others = (one for one in timeline.consumers if one is not consumer)
    yield from (other.invoke for other in others if other.subscription == consumer.subscription)
    yield from (frame for _, frame in timeline.frames_of(consumer, "MESSAGE", "FLOW") if is_torn(frame))


def _new(timeline: Timeline, consumer: Consumer) -> Iterator[_New]:
    """Yield what a consumer received for the first time."""
    seen: set[tuple[int, int]] = set()
    furthest: dict[int, tuple[int, Received]] = {}
    for message in timeline.received(consumer):
        identity = timeline.own(message.identity)
        if identity is None:
            continue
        handle, number = identity.handle, identity.number
        most, last = furthest.get(handle, (-1, None))
        if (handle, number) not in seen:
            yield _New(message, handle, number, last if number < most else None)
        seen.add((handle, number))
        furthest[handle] = (number, message) if last is None or number > most else (most, last)


def _arrived(reader: _Reader, behind: list[_New]) -> Iterator[Received]:
    """Yield, of each change, the first of these messages that came after it."""
    change = between(reader.changes, reader.consumer.invoke, None).first
    for message in (one.message for one in behind):
        if change is not None and change.seq < message.seq:
            yield message
            change = between(reader.changes, message, None).first


def _missed(timeline: Timeline, reader: _Reader, new: list[_New]) -> Iterator[_Missed]:
    """Yield the first missed message of each producer."""
    consumer, topic, sends = reader.consumer, reader.topic, timeline.events.invokes("send")
    end = next(reversed(timeline.events.completions_of(consumer.handle, "receive")), None)
    receive = timeline.call_of(end.op) if end in timeline.starved else None
    is_void = topic in timeline.once(refused_for_good) or not timeline.view.is_dispatched_at_once(topic)
    if end is None or receive is None or is_void or not reader.is_judged(timeline.ended):
        return
    if any(map(is_torn, timeline.events.frames(*_LOOKUPS))) or not sends or consumer.invoke.seq > sends[0].seq:
        return
    got = {(one.handle, one.number) for one in new}
    since_ns = looked_ns(timeline, consumer, max(receive.t_ns, _may_come_ns(timeline, consumer)))
    for handle, opening in timeline.openings.items():
        its = timeline.sends_of(handle) if opening.args.get("topic", topic) == topic else ()
        due = (one for one in its if _had_been_reported(one, receive))
        send = next((one for one in due if (handle, one.invoke.number) not in got), None)
        if send is not None:
            yield _Missed(send, end, since_ns)


def _may_come_ns(timeline: Timeline, consumer: Consumer) -> int:
    """Return when the last message came, or a cut let the consumer reconnect, or it was admitted, or it is to be back.

    Other consumers may have delayed that. On a failover subscription the broker chooses the active consumer only after
    a delay. Some clients rest before they come back.
    """
    cuts = [one.t_ns for one in timeline.events.of(Closed) if one.by is ClosedBy.FAULT]
    fails_over = in_force(timeline.view, consumer, "subscription_type") == "failover"
    delay_ns = timeline.topology.settings.failover_delay_ms * MS if fails_over else 0
    active = [one.ready.t_ns + delay_ns for one in consumer.sessions if one.ready is not None]
    away = [one.event.t_ns for one in timeline.interruptions if one.owner is consumer and one.over is None]
    back = [t_ns + LONGEST_FIRST_WAIT_MS * MS for t_ns in away]
    return max([0, *cuts, *active, *back, *(one.t_ns for one in timeline.received(consumer)[-1:])])


def _had_been_reported(send: Send, receive: Invoke) -> bool:
    return send.had_succeeded(receive) and is_identified(send.invoke.size)


def _out_of_order(timeline: Timeline) -> dict[int | None, Invoke]:
    """Return by producer the first send that is delivered at a time of its own, or has a sequence id of its own."""
    found: dict[int | None, Invoke] = {}
    for call in timeline.events.invokes("send"):
        if {"deliver_after_ms", "deliver_at_ms", "sequence_id"} & call.args.keys():
            found.setdefault(call.handle, call)
    return found


def _sends_in_order(timeline: Timeline, handle: int, at: Event) -> bool:
    """Return whether it sends in order.

    Raises `UnknownError` where a fault changed what it sent, or what it was answered.
    """
    odd, is_known = timeline.once(_out_of_order).get(handle), handle in timeline.openings
    is_known = is_known and handle not in timeline.bursts
    if timeline.batches_by_key(handle) or not is_known or (odd is not None and odd.seq < at.seq):
        return False
    timeline.check_untorn(handle, at)
    timeline.check_untampered(handle)
    timeline.check_forged_answers(at, handle)
    return True


def _judge_out_of_order(timeline: Timeline, new: _New) -> Says:
    message, ahead = new.message, new.ahead
    if ahead is not None and ahead.identity is not None and _sends_in_order(timeline, new.handle, message):
        yield breach(
            "reordered",
            f"consumer {message.handle} received message {new.number} of producer {new.handle} at {ms(message.t_ns)} "
            f"for the first time; expected it before message {ahead.identity.number}, which came at {ms(ahead.t_ns)}; "
            "the topic's owner changed or its broker ended in between",
            *(ahead, message),
        )


def _judge_lost(timeline: Timeline, reader: _Reader, missed: _Missed) -> Says:
    (send, end, since_ns), reported = missed, missed.send.completion
    handle = send.invoke.handle or 0
    is_late = timeline.bounds.is_past("answer", since_ns, end.t_ns)
    if reported is None or not is_late or not _sends_in_order(timeline, handle, timeline.ended):
        return
    if timeline.bounds.is_missing("answer", since_ns, end.t_ns, what="a message"):
        yield breach(
            "lost",
            f"message {send.invoke.number} of producer {handle} was reported as sent at {ms(reported.t_ns)}; then the "
            f"topic's owner changed or its broker ended; expected consumer {reader.consumer.handle} to receive it, and "
            f"its last receive ended at {ms(end.t_ns)} without it",
            *(reported, end),
        )
