from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import from_client, moves_to_dead_letter
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
    """An entry that a request for redelivery names. `copy`: how it had last arrived on the same session; `first`: the
    first message of it that the application received, before or after the request."""

    consumer: Consumer
    request: Frame
    entry: Entry
    copy: Delivery
    first: Received


def _named(timeline: Timeline) -> Iterator[_Named]:
    """Yield the entries that consumers without a dead letter policy name: others may request what no application saw.

    A message that the application receives sooner or later can be decoded, so the client had no reason to drop it.
    """
    for request in timeline.events.frames(REDELIVER):
        session = timeline.consumer_sessions.of(request) if request.ids and from_client(request) else None
        consumer = None if session is None else known_owner(session, request)
        if session is None or consumer is None or moves_to_dead_letter(timeline.view, consumer):
            continue
        for id in request.ids:
            entry = Entry(session.topic, id.ledger, id.entry)
            copies = timeline.copies(consumer, entry)
            came = [one for one in copies if one.session is session and one.frame.seq < request.seq]
            given = [message for one in copies for message in one.received]
            if came and given:
                yield _Named(consumer, request, entry, came[-1], min(given, key=lambda one: one.seq))


@check("nack.asks-for-what-was-given", of=_named)
def asks_for_what_was_given(_timeline: Timeline, named: _Named) -> Says:
    """nack.asks-for-what-was-given: a request for redelivery names only entries of which the application had received
    a message.

    If the first message that it received has a greater redelivery count than the copy that had arrived by then, it
    came with a later copy: the application had not received it when the request left.
    """
    consumer, request, entry, copy, first = named
    if first.seq < request.seq or (first.redelivery_count or 0) <= (copy.frame.redelivery_count or 0):
        yield Exercised(request)
        return
    yield breach(
        "asks-for-unseen",
        f"consumer {consumer.handle} requested redelivery of entry {entry.ledger}:{entry.entry} at {ms(request.t_ns)}, "
        f"which had arrived at {ms(copy.frame.t_ns)}; expected no request for a message that its application had not "
        f"received; it received it for the first time at {ms(first.t_ns)}, with redelivery count "
        f"{first.redelivery_count}",
        *(copy.frame, request, first),
    )
