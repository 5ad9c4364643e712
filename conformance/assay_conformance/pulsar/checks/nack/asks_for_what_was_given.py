from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import buries, from_client
from assay_conformance.model.event import Frame, Received
from assay_conformance.pulsar.timeline import (
    REDELIVER,
    Consumer,
    Delivery,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    known_owner,
    ms,
)


class _Named(NamedTuple):
    """An entry that a request for redelivery names, how it had come on the same session, and what the application was
    given of it first, whenever that was."""

    consumer: Consumer
    request: Frame
    entry: Entry
    copy: Delivery
    first: Received


def _named(timeline: Timeline) -> Iterator[_Named]:
    """Yield the entries named by consumers that settle nothing by letters: those may ask for what no application saw.

    What the application is given at some time can be read, so that the client had no reason to drop it.
    """
    for request in timeline.events.frames(REDELIVER):
        session = timeline.consumer_sessions.of(request) if request.ids and from_client(request) else None
        consumer = None if session is None else known_owner(session, request)
        if session is None or consumer is None or buries(timeline.view, consumer):
            continue
        for id in request.ids:
            entry = Entry(session.topic, id.ledger, id.entry)
            copies = timeline.copies(consumer, entry)
            came = [one for one in copies if one.session is session and one.frame.seq < request.seq]
            given = [message for one in copies for message in one.handed]
            if came and given:
                yield _Named(consumer, request, entry, came[-1], min(given, key=lambda one: one.seq))


@check("nack.asks-for-what-was-given", of=_named)
def asks_for_what_was_given(_timeline: Timeline, named: _Named) -> Says:
    """nack.asks-for-what-was-given: a request for redelivery that names entries names those of which the application
    was given a message.

    One that it was given first by a later copy, as its redelivery count says, it was not given by then.
    """
    consumer, request, entry, copy, first = named
    if first.seq < request.seq or (first.redelivery_count or 0) <= (copy.frame.redelivery_count or 0):
        yield Exercised(request)
        return
    yield breach(
        "asks-for-unseen",
        f"consumer {consumer.handle} asked for entry {entry.ledger}:{entry.entry} again at {ms(request.t_ns)}, which "
        f"had come at {ms(copy.frame.t_ns)}; expected no request for what its application had not been given; that got "
        f"it for the first time at {ms(first.t_ns)}, as redelivered {first.redelivery_count} times",
        *(copy.frame, request, first),
    )
