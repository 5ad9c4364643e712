from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from math import inf
from typing import NamedTuple

from assay_conformance.checks.consumption import listed
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.ack._batch_index import kept_batches
from assay_conformance.pulsar.checks.ack._owed import never_left
from assay_conformance.pulsar.timeline import (
    BatchAck,
    BatchEntry,
    Call,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    each,
    ms,
    open_places,
)
from assay_conformance.pulsar.timeline.moments import SessionOver, SettleCompleted


@dataclass(frozen=True, slots=True, eq=False)
class _Delivery:
    """A batch as it came, until it was redelivered. `closed`: messages that came settled, now or before;
    `called`: acks of its messages that succeeded, by place; `reached`: likewise, cumulative ones. It has neither where
    an earlier copy was still to be delivered: which of the two a call is about is not known then."""

    batch: BatchEntry
    frame: Frame
    until: float
    closed: frozenset[int]
    called: dict[int, SettleCompleted]
    reached: dict[int, SettleCompleted]

    def owed(self, before: Frame, sent: set[int], *, cumulative: bool) -> dict[int, Call]:
        """Return the calls whose messages were in no ACK by an event."""
        calls = self.reached if cumulative else self.called
        return {place: one.call for place, one in calls.items() if place not in sent and one.event.seq < before.seq}


class _Ack(NamedTuple):
    """An ACK of a batch, by which `cleared` are settled. `owed`: what it might have settled as well, and did not."""

    delivery: _Delivery
    frame: Frame
    has_set: bool
    cleared: set[int]
    owed: dict[int, Call]


def _deliveries(batch: BatchEntry) -> Iterator[_Delivery]:
    came, closed, copies = batch.intact, frozenset[int](), 0
    for frame, again in zip_longest(came, came[1:]):
        is_mixed = copies > sum(message.seq < frame.seq for message in batch.received)
        places = open_places(frame, batch.size)
        compacted = {place for place, member in enumerate(frame.members) if member.compacted_out}
        copies += len(places)
        closed |= compacted.union({*range(batch.size)}.difference(places))
        delivery = _Delivery(batch, frame, inf if again is None else again.seq, closed, {}, {})
        for called in () if is_mixed else batch.called:
            call = called.call
            its = frame.seq < call.message.seq and called.session is not None and called.event.seq < delivery.until
            if its and call.cumulative:
                for place in set(places).difference(compacted).intersection(call.members):
                    delivery.reached.setdefault(place, called)
            elif its:
                delivery.called.setdefault(call.message.message_id.batch_index, called)
        yield delivery


def _judged(timeline: Timeline, delivery: _Delivery) -> Says:
    """Judge the ACKs of a delivery, and the ends of its session by which what is missing in them is due.

    A broker adds up what ACKs say, so what left in an earlier one need not be in this one.
    """
    batch, frame, sent = delivery.batch, delivery.frame, set[int]()
    moments: list[tuple[Frame, BatchAck | SessionOver]] = [(ack.frame, ack) for ack in batch.acks]
    moments += ((over.by_client, over) for over in batch.ends if over.by_client is not None)
    its = (one for one in moments if frame.seq < one[0].seq < delivery.until)
    for at, moment in sorted(its, key=lambda one: one[0].seq):
        if batch.is_passed(frame, at):
            sent.update(range(batch.size))
        if isinstance(moment, BatchAck):
            cleared = moment.cleared(batch.size)
            sent |= cleared
            owed = delivery.owed(at, sent, cumulative=moment.is_cumulative)
            ack = _Ack(delivery, at, bool(moment.ack_set), cleared, owed)
            yield from each([ack], _clears_what_was_acked, timeline)
        elif frame.seq > moment.session.request.seq:
            missing = (delivery.owed(at, sent, cumulative=cumulative) for cumulative in (False, True))
            first = next((call for owed in missing for call in owed.values()), None)
            yield from each([first] if first else [], _judge_forgotten, timeline, batch, at)


@check("ack.batch-index-ack-set")
def batch_index_ack_set(timeline: Timeline) -> Says:
    """ack.batch-index-ack-set: the ack_set of an ACK clears the bits of messages that were acknowledged by then, and no
    others.

    An acknowledgment that the client has held for longer than a group interval must be in it.
    """
    for batch in kept_batches(timeline, index_ack=True):
        for delivery in _deliveries(batch):
            yield from _judged(timeline, delivery)


def _clears_what_was_acked(timeline: Timeline, ack: _Ack) -> Says:
    delivery, frame, has_set, cleared, owed = ack
    batch = delivery.batch
    interval_ns = timeline.ack_interval_ns(batch.consumer) or 0
    late = {
        index: call
        for index, call in owed.items()
        if timeline.bounds.is_past("ack-flush", call.called_ns + interval_ns, frame.t_ns)
    }
    early = cleared - batch.acked(frame) - delivery.closed
    sent = f"consumer {batch.consumer.handle} sent an ACK at {ms(frame.t_ns)}"
    if early:
        yield breach(
            "open-message-acked",
            f"{sent} that acknowledges messages {listed(early)} of batch {batch.entry}; expected their bits to be set, "
            "since the application had not acknowledged them: they can never be redelivered",
            *(delivery.frame, frame),
        )
    elif late:
        yield breach(
            "acked-message-open",
            f"{sent} that leaves messages {listed(late)} of batch {batch.entry} unacknowledged; expected their bits to "
            "be cleared, since the application had acknowledged them more than a group interval before",
            *(next(iter(late.values())).invoke, frame),
        )
    elif has_set and len(cleared) == batch.size:
        yield breach(
            "ack-set-of-nothing",
            f"{sent} of batch {batch.entry} with an ack_set that has no bit left; expected an ACK without ack_set",
            *(delivery.frame, frame),
        )
    else:
        yield Exercised(frame)


def _judge_forgotten(timeline: Timeline, batch: BatchEntry, end: Frame, call: Call) -> Says:
    what = f"message {call.message.message_id.batch_index} of batch {batch.entry}"
    yield from never_left(timeline, "never-acked", call, call.called_ns, end, what)
