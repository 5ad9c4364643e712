"""Turns: moments from which on it was the client's turn to act for one of its handles, and when it did.

| what          | from                                              | to                                  |
|---------------|---------------------------------------------------|-------------------------------------|
| a send leaves | the call, of a producer that is registered        | its SEND                            |
| a send ends   | the receipt for it                                | its end                             |
| it goes on    | the call, or an answer to a request of it         | its next request, or its end        |
| a receive     | the MESSAGE, the call, or the message before      | the application gets the message    |

A client that polls for messages (`receive_poll_ms`) delivers them as much later.

Where more than the client decides there is no turn: of sends that wait for a batch, or for room; of consumers that
listen, whose handlers wait for threads (Java `listenerThreads`, C++ `setMessageListenerThreads`: one by default), or
that seek, pause or nack; of calls on what is closed; of writes that the broker may not read (a publish rate).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, Final

from assay_conformance.judging.tolerance import MS
from assay_conformance.model.event import Completion, ErrorClass, Invoke, Outcome
from assay_conformance.model.facts import Lack
from assay_conformance.pulsar.timeline.deliveries import Delivery
from assay_conformance.pulsar.timeline.handlers import called_ns, listens
from assay_conformance.pulsar.timeline.producers import Send
from assay_conformance.pulsar.timeline.readers import skips_messages
from assay_conformance.pulsar.timeline.request_turns import Turn, request_turns
from assay_conformance.pulsar.timeline.sends import ended_ns

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.timeline import Timeline

_MOVES: Final = ("seek", "pause", "nack", "redeliver_all", "reconsume_later")


def turns(timeline: Timeline) -> Iterator[Turn]:
    """Yield all turns of an attempt."""
    yield from _leaving(timeline)
    yield from _receipts(timeline)
    yield from request_turns(timeline)
    yield from _receives(timeline)


def is_synchronous(timeline: Timeline, send: Send) -> bool:
    """Return whether the application calls its producer again only when this send has ended.

    The Case says so, or its client has no other send.
    """
    return send.invoke.args.get("mode") == "sync" or Lack.OVERLAPPING_SENDS in timeline.view.facts.lacks


def at_once(timeline: Timeline, handle: int) -> Iterator[Send]:
    """Yield the sends that come to the client when they are made: those after a synchronous one wait for its end."""
    waits_until: float = 0
    for send in timeline.sends_of(handle):
        if waits_until < send.invoke.seq:
            yield send
        if is_synchronous(timeline, send):
            waits_until = max(waits_until, inf if send.completion is None else send.completion.seq)


def _leaving(timeline: Timeline) -> Iterator[Turn]:
    for handle in timeline.openings if timeline.view.is_read_at_once() else ():
        if handle in timeline.bursts or timeline.view.producer_setting(handle, "batching"):
            continue
        for send in _with_room(timeline, handle):
            unit, call, end = timeline.unit_with(send), send.invoke, send.completion
            ready = None if unit is None else unit.sends[0][0].admitted
            whole = unit is not None and not unit.is_chunk and unit.numbers[:1] == (call.number,)
            if unit is not None and whole and ready is not None and ready.seq < call.seq:
                yield Turn(handle, "a send could leave", call, call.t_ns, unit.first, unit.first.t_ns)
            elif unit is None and end is not None and _never_left(timeline, call, end):
                yield Turn(handle, "a send could leave", call, called_ns(end), end, ended_ns(end))


def _never_left(timeline: Timeline, call: Invoke, end: Completion) -> bool:
    """Return whether a send of a registered producer timed out, and no SEND meanwhile can have been its.

    Of a message without identity, as a short one, it is not known in which SEND it left.
    """
    lines = timeline.producers_of(call.handle or 0)
    unknown = (unit.first.seq for line in lines for unit in line.units if not unit.numbers)
    is_late = end.error is ErrorClass.TIMEOUT and _is_registered(timeline, call)
    return is_late and not any(call.seq < seq < end.seq for seq in unknown)


def _with_room(timeline: Timeline, handle: int) -> Iterator[Send]:
    """Yield the sends that need not wait for room: of a producer that blocks, those with no open one ahead.

    Memory is of the client.
    """
    blocks = bool(timeline.view.producer_setting(handle, "block_if_queue_full"))
    if blocks and timeline.view.client_setting(handle, "memory_limit_bytes"):
        return
    latest: float = 0
    for send in at_once(timeline, handle):
        if not blocks or latest < send.invoke.seq:
            yield send
        latest = max(latest, inf if send.completion is None else send.completion.seq)


def _is_registered(timeline: Timeline, call: Invoke) -> bool:
    """Return whether a producer was, on each of its topics, when a send of it was called."""
    lines = list(timeline.producers_of(call.handle or 0))
    admitted = [one.sessions[-1].admitted if one.sessions else None for one in lines]
    return bool(lines) and all(one is not None and one.seq < call.seq for one in admitted)


def _receipts(timeline: Timeline) -> Iterator[Turn]:
    for end in timeline.ends("send"):
        unit = timeline.unit_of(end)
        receipt = None if unit is None or end.outcome is not Outcome.OK else next(iter(unit.receipts), None)
        if receipt is not None and receipt.to_receiver and timeline.is_in_turn(receipt):
            yield Turn(end.handle or 0, "a send could end", receipt, receipt.t_ns, end, ended_ns(end))


def _receives(timeline: Timeline) -> Iterator[Turn]:
    moved = {call.handle for call in timeline.events.invokes(*_MOVES)}
    brought = {one.received[0].seq: one for one in timeline.deliveries if one.received and is_plain(one)}
    for end in timeline.ends("receive"):
        consumer = timeline.consumer(end.handle)
        if consumer is None or consumer.handle in moved or listens(consumer) or end.outcome is not Outcome.OK:
            continue
        received, last_ns = timeline.received(consumer), called_ns(end)
        since, until = (
            bisect_right(received, seq, key=lambda one: one.seq) for seq in (timeline.call(end).seq, end.seq)
        )
        poll_ns = (timeline.setting(consumer, "receive_poll_ms") or 0) * MS
        for message in received[since:until]:
            came_ns, delivery = ended_ns(message), brought.get(message.seq)
            if delivery is not None:
                due_ns = min(came_ns, max(last_ns, delivery.frame.t_ns) + poll_ns)
                yield Turn(consumer.handle, "a message could be delivered", delivery.frame, due_ns, message, came_ns)
            last_ns = max(last_ns, came_ns)


def is_plain(delivery: Delivery) -> bool:
    """Return whether nothing allows a client to drop or withhold it: it came for the first time, whole and readable."""
    frame = delivery.frame
    meta = frame.meta
    readable = bool(frame.intact and frame.members and meta and meta.chunk_id is None and meta.compression == "NONE")
    first = not delivery.is_repeat and not frame.redelivery_count and not frame.ack_sets
    return delivery.came and readable and first and not skips_messages(delivery.session)
