from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.checks.loading import BrokerEnds
from assay_conformance.history.events import OPENS, between, first_of, in_order
from assay_conformance.model.event import Closed, ClosedBy, Event, Fired, Frame, Invoke, Opened, Outcome
from assay_conformance.model.topic_names import base_topic, named_topics
from assay_conformance.pulsar.timeline import (
    PASSING_ERRORS,
    Exercised,
    Interruption,
    Producer,
    Says,
    Timeline,
    breach,
    check,
    each,
    ms,
    whose,
)
from assay_conformance.pulsar.timeline.requests import CLOSES
from assay_conformance.wire.service_urls import named_brokers


class _Return(NamedTuple):
    """A producer or consumer that was closed with the address of the new owner registers. `disturbed`: the first event
    after the close that may have kept it from registering there."""

    closed: Interruption
    close: Frame
    registered: Frame
    disturbed: Event | None

    @property
    def who(self) -> str:
        """Which it is, for a sentence."""
        owner = self.closed.owner
        return f"{'producer' if isinstance(owner, Producer) else 'consumer'} {owner.handle}"


def _named(timeline: Timeline) -> dict[int, tuple[Interruption, Event | None]]:
    """Return the closes that name the new owner, by their number, each with what may have kept one from going there."""
    harms: list[Event] = [*timeline.disconnections, *timeline.events.of(Fired)]
    disturbances = in_order(harms)
    return {
        one.event.seq: (one, between(disturbances, one.event, one.own_attempts.first).first)
        for one in timeline.interruptions
        if isinstance(one.event, Frame) and _names_owner(timeline, one.event)
    }


def _returns(timeline: Timeline) -> Iterator[_Return]:
    for closed, disturbed in timeline.once(_named).values():
        close, registered = closed.event, closed.own_attempts.first
        if isinstance(close, Frame) and isinstance(registered, Frame):
            yield _Return(closed, close, registered, disturbed)


def _names_owner(timeline: Timeline, close: Frame) -> bool:
    """Return whether a client can go to the new owner at once: it had been admitted, and the close names that.

    A client may still hold a connection there that was lost: its attempt to use it fails without a frame.
    """
    session = timeline.registered(close) if close.command in CLOSES else None
    urls = named_brokers(close.command, close.fields) if session is not None and session.was_admitted(close) else ()
    return bool(urls) and not any(_may_hold_lost(timeline, url, close) for url in urls)


def _may_hold_lost(timeline: Timeline, url: str, by: Frame) -> bool:
    lost = 0
    for event in between(timeline.once(_connections_to).get(url, ()), None, by):
        lost = max(lost - 1, 0) if isinstance(event, Opened) else lost + 1
    return lost > 0


def _connections_to(timeline: Timeline) -> dict[str, list[Event]]:
    """Return by url when connections there were opened, and lost."""
    steps: list[Opened | Closed] = [*timeline.events.of(Opened), *timeline.events.of(Closed)]
    found, urls = dict[str, list[Event]](), dict[int, str]()
    for event in in_order(steps):
        if isinstance(event, Opened):
            urls[event.conn] = event.url
        if isinstance(event, Opened) or event.by is not ClosedBy.CLIENT:
            found.setdefault(urls.get(event.conn, ""), []).append(event)
    return found


def _refusals(timeline: Timeline) -> Iterator[tuple[_Return, Frame]]:
    """Yield returns that were refused for now where the close had sent them, with the next registration."""
    returns = {id(one.closed): one for one in _returns(timeline)}
    for closed, refused in pairwise(timeline.interruptions):
        back, again = returns.get(id(closed)), refused.own_attempts.first
        if back is None or refused.owner is not closed.owner or refused.error not in PASSING_ERRORS:
            continue
        if refused.event in timeline.answers_to(back.registered) and isinstance(again, Frame):
            yield back, again


@check("topics.reconnects-to-assigned-broker")
def reconnects_to_assigned_broker(timeline: Timeline) -> Says:
    """topics.reconnects-to-assigned-broker: a producer or consumer that was closed with the address of the new owner
    registers there at once and without a LOOKUP. Where that fails, it looks the topic up.

    Judged where nothing else of that topic had a reason for a LOOKUP: nothing was being opened, and no connection was
    lost or refused since. Nor may the client still hold a connection to that broker that was lost before.
    """
    undisturbed = (one for one in _returns(timeline) if one.disturbed is None and not _others_unnamed(timeline, one))
    yield from each(undisturbed, _goes_there, timeline)
    yield from each(_refusals(timeline), _looks_up, timeline)


def _others_unnamed(timeline: Timeline, back: _Return) -> bool:
    """Return whether another one of the topic was closed meanwhile, and has to look it up."""
    closes = (one for one in between(timeline.events.frames(*CLOSES), back.close, back.registered) if to_client(one))
    there = (one for one in closes if (session := timeline.registered(one)) and session.topic == back.closed.topic)
    return any(not _names_owner(timeline, one) for one in there)


def _looks_up(timeline: Timeline, refused: tuple[_Return, Frame]) -> Says:
    """Judge whether it asked where its topic is, once it was refused where it had been sent."""
    back, again = refused
    yield Exercised(again)
    if not any(_lookups(timeline, back.closed.topic, back.registered, again)):
        yield breach(
            "kept-address",
            f"the broker closed {back.who} at {ms(back.close.t_ns)} and named the new owner of topic "
            f"{back.closed.topic}, which refused it at {ms(back.registered.t_ns)}; expected a LOOKUP before it "
            f"registers again; it registered at {ms(again.t_ns)} without one",
            *(back.close, back.registered, again),
        )


def _lookups(timeline: Timeline, topic: str, since: Frame, until: Frame) -> Iterator[Frame]:
    written = between(timeline.events.frames("LOOKUP"), since, until)
    return (one for one in written if from_client(one) and timeline.local_topic(one) == topic)


def _goes_there(timeline: Timeline, back: _Return) -> Says:
    """Judge whether it went there at once."""
    close, registered, topic = back.close, back.registered, back.closed.topic
    closed = f"the broker closed {back.who} at {ms(close.t_ns)} and named the new owner of topic {topic}"
    yield Exercised(registered)
    lookups = _lookups(timeline, topic, close, registered)
    looked_up = next((one for one in lookups if not _has_another_reason(timeline, topic, one)), None)
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


def _has_another_reason(timeline: Timeline, topic: str, lookup: Frame) -> bool:
    """Return whether something else may be the reason of a LOOKUP: an open call goes on, or one of the topic failed, so
    that the client may keep some of its partitions; or another producer or consumer of the topic was interrupted, and
    has not registered since: that one registered of which several are possible says nothing about the others."""
    calls = timeline.events.invokes(*OPENS)
    if any(timeline.is_pending(call, lookup) or _has_failed(timeline, call, topic, lookup) for call in calls):
        return True
    named = timeline.once(_named)
    for one in timeline.interruptions:
        _, since = named.get(one.event.seq, (one, one.event))
        back = between(one.tried.own, one.event, None).first
        is_away = since is not None and since.seq < lookup.seq and (back is None or back.seq > lookup.seq)
        if one.topic == topic and is_away:
            return True
    return any(
        event.seq < lookup.seq and (back is None or back.seq > lookup.seq)
        for event, back in timeline.once(_unclear).get(topic, ())
    )


def _has_failed(timeline: Timeline, call: Invoke, topic: str, by: Frame) -> bool:
    end, named = timeline.end_of(call.op), named_topics(call.args, str(call.args.get("topic", "")))
    is_lazy = call.verb == "open_producer" and timeline.opens_lazily(call.handle)
    failed = end is not None and end.outcome is not Outcome.OK and end.seq < by.seq
    return (is_lazy or failed) and base_topic(topic) in map(timeline.local_name, named)


def _unclear(timeline: Timeline) -> dict[str, list[tuple[Event, Event | None]]]:
    """Return by topic what else a client may look it up for, and until when: what happened to registrations of which it
    is not known whose they are, and a registration that the client gives up for want of an answer."""
    found: dict[str, list[tuple[Event, Event | None]]] = {}
    for one in timeline.registrations:
        events = (one.refusal, timeline.closed(one.frame.conn)) if one.owner is None else ()
        found.setdefault(one.session.topic, []).extend((event, None) for event in events if event is not None)
    for close in timeline.events.frames(*CLOSES):
        session = timeline.registered(close)
        owner = whose(session, close)
        if session is None or (owner is not None and (not from_client(close) or session.was_admitted(close))):
            continue
        if owner is None or owner.closing is None or owner.closing.seq > close.seq:
            later = (one.request for one in owner.sessions if one.topic == session.topic) if owner is not None else ()
            back = first_of(*(one for one in later if one.seq > close.seq))
            found.setdefault(session.topic, []).append((close, back))
    return found


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
