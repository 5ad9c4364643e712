from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from assay_conformance.checks.consumption import acked_entries
from assay_conformance.model.event import Event, Frame, Invoke, Received
from assay_conformance.pulsar.checks.seek._hanging import never_ends
from assay_conformance.pulsar.checks.seek._seeking import (
    Sought,
    entry_named,
    received_after,
    seeks_of_each_topic,
    target_of,
)
from assay_conformance.pulsar.timeline import (
    CUMULATIVE,
    Breach,
    Consumer,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    known_owner,
    ms,
)
from assay_conformance.pulsar.timeline.moments import Dispatched, SettleCalled


def _seeking(timeline: Timeline) -> Iterable[tuple[Consumer, list[Sought]]]:
    """Return the seeks of each consumer on each of its topics."""
    found: dict[tuple[int, str], list[Sought]] = {}
    for sought in seeks_of_each_topic(timeline):
        found.setdefault((sought.consumer.handle, sought.topic), []).append(sought)
    return [(its[0].consumer, its) for its in found.values()]


@dataclass(slots=True)
class _Held:
    """What a consumer holds. `arrived`: the MESSAGEs of each entry; `unsent`: entries that the application acknowledged
    and whose ACK has not left yet, and `stale` those of them from before the last seek."""

    arrived: dict[Entry, list[Frame]] = field(default_factory=dict)
    received: set[Entry] = field(default_factory=set)
    unsent: set[Entry] = field(default_factory=set)
    stale: set[Entry] = field(default_factory=set)
    prefetched: set[Entry] = field(default_factory=set)

    def sought(self) -> None:
        """Note a seek: from here on all of it is from before."""
        self.stale = set(self.unsent)
        self.prefetched = set(self.arrived) - self.received

    def came_again(self, entry: Entry, command: Frame) -> bool:
        """Return whether an entry arrived after a SEEK."""
        return any(frame.seq > command.seq for frame in self.arrived.get(entry, ())[-1:])


@check("seek.discards-prefetched", of=_seeking, keeps_away=never_ends)
def discards_prefetched(timeline: Timeline, subject: tuple[Consumer, list[Sought]]) -> Says:
    """seek.discards-prefetched: a message that arrived before a seek is not received after it, unless it arrived again;
    nor is it acknowledged."""
    consumer, its = subject
    held, current = _Held(), None
    sought_by = {sought.invoke.seq: sought for sought in its}
    behind = {message.seq: sought for sought in its for message in received_after(timeline, sought)}
    for event, moment in _in_order(timeline, consumer, its):
        if isinstance(moment, Dispatched):
            held.arrived.setdefault(moment.entry, []).append(moment.event)
        elif isinstance(moment, SettleCalled):
            # The calls of one handle reach the client in order: this one before a later seek, and after an earlier
            # one. What it acknowledges was not left from before the earlier seek, even the rest of a batch.
            held.unsent.add(moment.entry)
            held.stale.discard(moment.entry)
        elif isinstance(event, Invoke):
            current = sought_by[event.seq]
            held.sought()
        elif isinstance(event, Received):
            if event.seq in behind:
                yield from _received(held, behind[event.seq], event)
            entry = timeline.entry_of(event)
            held.received |= set() if entry is None else {entry}
        elif isinstance(event, Frame) and isinstance(moment, frozenset):
            held.unsent -= moment
            yield from _acked(held, current, event, moment)


Moment = Dispatched | SettleCalled | frozenset[Entry] | None


def _in_order(timeline: Timeline, consumer: Consumer, its: list[Sought]) -> list[tuple[Event, Moment]]:
    """Return its events on one topic, in order.

    They are its MESSAGEs as they came, what the application acknowledged one by one, what it received, its seeks, and
    its ACKs with the entries that they settle.
    """
    found: list[tuple[Event, Moment]] = [(sought.invoke, None) for sought in its]
    found += [(message, None) for message in timeline.received(consumer)]
    topic = its[0].topic
    for moment in timeline.moments(consumer):
        match moment:
            case Dispatched() if moment.event.to_receiver and moment.entry.topic == topic:
                found.append((moment.event, moment))
            case SettleCalled() if not moment.is_nack and not moment.call.cumulative and moment.entry.topic == topic:
                found.append((moment.event, moment))
    for session in (one for one in consumer.sessions if one.topic == topic):
        for ack in timeline.written_acks(session).frames:
            if ack.ack_type != CUMULATIVE and known_owner(session, ack) is consumer:
                found.append((ack, frozenset(acked_entries(session, ack))))
    return sorted(found, key=lambda one: one[0].seq)


def _received(held: _Held, sought: Sought, event: Received) -> Says:
    entry, command = entry_named(sought, event), sought.command
    if command is None or held.came_again(entry, command):
        if command is not None and (held.prefetched or held.stale):
            yield Exercised(event)
        return
    yield breach(
        "stale-delivery",
        f"consumer {sought.consumer.handle} sought {target_of(sought.invoke)}, which ended at {ms(sought.ended_ns)}; "
        f"expected only messages that arrived after the SEEK; it received {entry} at {ms(event.t_ns)}, which had not",
        *held.arrived.get(entry, [])[-1:],
        command,
        event,
    )


def _acked(held: _Held, sought: Sought | None, ack: Frame, named: frozenset[Entry]) -> Says:
    command = None if sought is None or sought.beside else sought.command
    if sought is None or command is None or ack.seq < command.seq or _is_without_consumer(sought, ack):
        return
    stale = sorted(entry for entry in named & held.stale if not held.came_again(entry, command))
    if stale:
        yield _acked_behind(sought, command, stale[0], ack)


def _is_without_consumer(sought: Sought, ack: Frame) -> bool:
    """Return whether an ACK left between the broker's CLOSE_CONSUMER for the seek and the next SUBSCRIBE.

    The broker drops it, for it has no such consumer (ServerCnx: closeConsumer, handleAck).
    """
    back = next(sought.sessions(), None)
    return sought.closed is not None and sought.closed.seq < ack.seq and (back is None or ack.seq < back.request.seq)


def _acked_behind(sought: Sought, command: Frame, entry: Entry, ack: Frame) -> Breach:
    return breach(
        "acked-behind-seek",
        f"the application acknowledged {entry} at consumer {sought.consumer.handle} before it sought "
        f"{target_of(sought.invoke)}; expected no ACK after the SEEK of {ms(command.t_ns)}; it left at {ms(ack.t_ns)}",
        *(sought.invoke, command, ack),
    )
