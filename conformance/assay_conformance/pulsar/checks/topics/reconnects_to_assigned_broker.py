from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.checks.loading import BrokerEnds
from assay_conformance.history.events import OPENS, between, in_order
from assay_conformance.model.event import Closed, ClosedBy, Completion, Event, Fired, Frame, Invoke, Opened, Outcome
from assay_conformance.model.topic_names import base_topic, named_topics
from assay_conformance.pulsar.timeline import (
    PASSING_ERRORS,
    Exercised,
    ProducerSession,
    Says,
    Timeline,
    breach,
    check,
    each,
    ms,
    whose,
)
from assay_conformance.wire.service_urls import named_brokers


class _Owner(NamedTuple):
    """A producer or consumer on a topic, and its handle where that is known (each client chooses its own ids)."""

    topic: str
    kind: str
    handle: int | None


@dataclass(slots=True)
class _Record:
    """Of one of them: its PRODUCERs or SUBSCRIBEs, and the broker's closes. `named`: those after which the client can
    go to the new owner at once. `excuses`: events after which it may look its topic up until it registers."""

    registered: list[Frame] = field(default_factory=list)
    closes: list[Frame] = field(default_factory=list)
    named: list[Frame] = field(default_factory=list)
    excuses: list[Event] = field(default_factory=list)

    def excuse(self, *events: Event | None) -> None:
        self.excuses += [event for event in events if event is not None]

    @property
    def spans(self) -> Iterator[tuple[Frame, Frame | None]]:
        """Each time that it registered, and the next one."""
        return zip(self.registered, [*self.registered[1:], None], strict=True)


class _Return(NamedTuple):
    """One that was closed with the address of the new owner registers. `looked_up`: the first LOOKUP of its topic in
    between that nothing else had a reason for."""

    owner: _Owner
    close: Frame
    looked_up: Frame | None
    registered: Frame


def _returns(timeline: Timeline) -> Iterator[_Return]:
    records = _Records(timeline)
    lookups = records.lookups() if any(record.named for record in records.of.values()) else {}
    for owner, record in records.of.items():
        for before, back in record.spans:
            close = between(record.closes, before, back).last
            if back is None or close is None or between(record.named, before, back).last is not close:
                continue
            void = (between(many, close, back) for many in (records.disturbances, records.unnamed.get(owner.topic, ())))
            if not any(void):
                yield _Return(owner, close, between(lookups.get(owner.topic, ()), close, back).first, back)


class _Refused(NamedTuple):
    """One that went where the close named it to, was refused there for now, and registers again."""

    owner: _Owner
    close: Frame
    refused: Frame
    again: Frame


def _refusals(timeline: Timeline) -> Iterator[_Refused]:
    records = _Records(timeline)
    for owner, record in records.of.items():
        for refused, again in record.spans if record.named else ():
            close = between(record.closes, None, refused).last
            error = next((one for one in timeline.answers_to(refused) if one.command == "ERROR"), None)
            passes = error is not None and error.fields.get("error") in PASSING_ERRORS
            if close is None or again is None or not passes or between(record.closes, refused, again):
                continue
            first = between(record.registered, close, None).first is refused
            if first and between(record.named, None, refused).last is close:
                yield _Refused(owner, close, refused, again)


class _Records:
    """Those of all producers and consumers, and what disturbs them."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline, events = timeline, timeline.events
        self.of: dict[_Owner, _Record] = {}
        self._on: dict[str, list[tuple[_Owner, _Record]]] = {}
        self.unnamed: dict[str, list[Frame]] = {}
        """Topic -> closes after which the one that was closed has to look it up."""
        self.disturbances: list[Event] = in_order([*timeline.disconnections, *events.of(Fired)])
        """What may keep one of those under way from registering with the new owner."""
        for one in timeline.registrations:
            record = self.of.setdefault(_Owner(one.session.topic, one.kind, one.handle), _Record())
            record.registered.append(one.frame)
            record.excuse(one.refusal)
        self._see_closes()
        for record in self.of.values():
            for registered, later in record.spans:
                lost, named = timeline.closed(registered.conn), between(record.named, registered, later).first
                record.excuse(None if lost is None else between([lost], registered, later).first)
                record.excuse(None if named is None else between(self.disturbances, named, later).first)
            record.excuses = in_order(record.excuses)
        for owner, record in self.of.items():
            self._on.setdefault(owner.topic, []).append((owner, record))

    def _see_closes(self) -> None:
        """Note closes by brokers.

        A client may still hold a connection that was lost: its attempt to use it fails without a frame.
        """
        lost, urls, events = Counter[str](), dict[int, str](), self._timeline.events
        closes = events.frames("CLOSE_PRODUCER", "CLOSE_CONSUMER")
        steps: list[Event] = [*events.of(Opened), *events.of(Closed), *closes]
        for event in in_order(steps):
            if isinstance(event, Frame):
                self._see_close(event, lost)
            elif isinstance(event, Opened):
                urls[event.conn] = event.url
                lost[event.url] = max(lost[event.url] - 1, 0)
            elif isinstance(event, Closed) and event.by is not ClosedBy.CLIENT and event.conn in urls:
                lost[urls[event.conn]] += 1

    def _see_close(self, close: Frame, lost: Counter[str]) -> None:
        """Note a close.

        One that was closed before its registration was answered may wait for that answer, and looks the topic up after
        that. A client that gives a registration up, for want of an answer, begins from the start.
        """
        session = self._timeline.registered(close)
        if session is None:
            return
        owner, kind = whose(session, close), "producer" if isinstance(session, ProducerSession) else "consumer"
        handle = None if owner is None else owner.handle
        record = self.of.setdefault(_Owner(session.topic, kind, handle), _Record())
        admitted = session.admitted
        was_let_in = admitted is not None and admitted.seq < close.seq
        is_its_own = owner is None or owner.closing is None or owner.closing.seq > close.seq
        if from_client(close) and is_its_own and not was_let_in:
            record.excuse(close)
        if not to_client(close):
            return
        record.closes.append(close)
        urls, is_in = named_brokers(close.command, close.fields), was_let_in and handle is not None
        if is_in and urls and not any(lost[url] for url in urls):
            record.named.append(close)
        else:
            record.excuse(close)
            self.unnamed.setdefault(session.topic, []).append(close)

    def lookups(self) -> dict[str, list[Frame]]:
        """Return by topic its LOOKUPs for which there was no reason.

        Nothing was being opened, nor could be by a send; no open call of its topic had failed (a client may keep some
        of the partitions), and none on it was excused.
        """
        timeline, opening = self._timeline, set[int]()
        events, found = timeline.events, dict[str, list[Frame]]()
        lazy = (call for call in events.invokes("open_producer") if timeline.opens_lazily(call.handle))
        failed = {timeline.local_name(str(call.args.get("topic", ""))) for call in lazy}
        steps: list[Event] = [*events.frames("LOOKUP"), *events.invokes(*OPENS), *events.completions(*OPENS)]
        for event in in_order(steps):
            if isinstance(event, Invoke):
                opening.add(event.op)
            elif isinstance(event, Completion):
                opening.discard(event.op)
                call = timeline.call_of(event.op) if event.outcome is not Outcome.OK else None
                failed.update(named_topics(call.args, str(call.args.get("topic", ""))) if call is not None else ())
            elif isinstance(event, Frame) and from_client(event) and not opening:
                topic = timeline.local_topic(event)
                if base_topic(topic) not in failed and not self._is_excused(topic, event):
                    found.setdefault(topic, []).append(event)
        return found

    def _is_excused(self, topic: str, at: Frame) -> bool:
        """Return whether it is excused.

        That one registered of which several are possible says nothing about the others.
        """
        for owner, record in self._on.get(topic, ()):
            since = between(record.registered, None, at).last if owner.handle is not None else None
            if between(record.excuses, since, at):
                return True
        return False


@check("topics.reconnects-to-assigned-broker")
def reconnects_to_assigned_broker(timeline: Timeline) -> Says:
    """topics.reconnects-to-assigned-broker: a producer or consumer that was closed with the address of the new owner
    registers there at once and without a LOOKUP. Where that fails, it looks the topic up.

    Judged where nothing else of that topic had a reason for a LOOKUP: nothing was being opened, and no connection was
    lost or refused since. Nor may the client still hold a connection to that broker that was lost before.
    """
    yield from each(_returns(timeline), _goes_there, timeline)
    yield from each(_refusals(timeline), _looks_up, timeline)


def _looks_up(timeline: Timeline, refused: _Refused) -> Says:
    """Judge whether it asked where its topic is, once it was refused where it had been sent."""
    (topic, kind, handle), close, first, again = refused
    yield Exercised(again)
    written = (one for one in timeline.events.frames("LOOKUP") if first.seq < one.seq < again.seq)
    if not any(from_client(one) and timeline.local_topic(one) == topic for one in written):
        yield breach(
            "kept-address",
            f"the broker closed {kind} {handle} at {ms(close.t_ns)} and named the new owner of topic {topic}, which "
            f"refused it at {ms(first.t_ns)}; expected a LOOKUP before it registers again; it registered at "
            f"{ms(again.t_ns)} without one",
            *(close, first, again),
        )


def _goes_there(timeline: Timeline, back: _Return) -> Says:
    """Judge whether it went there at once."""
    (topic, kind, handle), close, looked_up, registered = back
    closed = f"the broker closed {kind} {handle} at {ms(close.t_ns)} and named the new owner of topic {topic}"
    yield Exercised(registered)
    if looked_up is not None:
        yield breach(
            "asked-first",
            f"{closed}; expected it to register there without a LOOKUP; it wrote one at {ms(looked_up.t_ns)}, before "
            f"it registered at {ms(registered.t_ns)}",
            *(close, looked_up, registered),
        )
        return
    for before, after in _own_time(timeline, back):
        if timeline.bounds.is_missing("redirect", before.t_ns, after.t_ns, what="a registration"):
            yield breach(
                "paused",
                f"{closed}; expected the client to register there without a pause; it did so at "
                f"{ms(registered.t_ns)}, after it had sent nothing for that from {ms(before.t_ns)} to {ms(after.t_ns)}",
                *(close, registered),
            )
            return


def _own_time(timeline: Timeline, back: _Return) -> list[tuple[Event, Event]]:
    """Return beginnings and ends of the times for which it has to account.

    The one that the new owner takes to answer does not count, and none where a broker may have ended.
    """
    close, registered = back.close, back.registered
    handshake, opened = timeline.handshakes.of(registered), timeline.connection(registered.conn).opened
    if BrokerEnds(timeline.view.case).possible:
        return []
    if handshake is None or handshake.connected.t_ns <= close.t_ns:
        return [(close, registered)]
    is_new = opened is not None and opened.t_ns > close.t_ns
    first: list[tuple[Event, Event]] = [(close, opened)] if is_new and opened is not None else []
    return [*first, (handshake.connected, registered)]
