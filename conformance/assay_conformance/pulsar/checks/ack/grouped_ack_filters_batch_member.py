from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from assay_conformance.checks.consumption import holds_acks, in_force, is_open, of_batch
from assay_conformance.pulsar.checks.ack._held_acks import HeldAck, judge_delivered_again
from assay_conformance.pulsar.timeline import Consumer, Entry, Exercised, Says, Timeline, check, each
from assay_conformance.pulsar.timeline.moments import (
    AckWritten,
    Delivered,
    Dispatched,
    SessionOver,
    SettleCalled,
    SettleCompleted,
)


class _Walk:
    """Of the batches of one consumer, on one session after the other. `came`: how often an entry came there; `handed`:
    how often the application got one of its messages, by its place."""

    def __init__(self, timeline: Timeline, consumer: Consumer) -> None:
        self._timeline, self._consumer = timeline, consumer
        self._held: dict[Entry, dict[int, HeldAck]] = {}
        self._came: Counter[Entry] = Counter()
        self._handed: Counter[tuple[Entry, int]] = Counter()

    def says(self) -> Says:
        for moment in self._timeline.moments(self._consumer):
            match moment:
                case SettleCalled() if of_batch(moment.call.message.message_id):
                    self._is_asked(moment)
                case SettleCompleted() if of_batch(moment.call.message.message_id):
                    self._is_called(moment)
                case Dispatched() if moment.event.to_receiver:
                    self._comes(moment)
                case Delivered():
                    yield from self._is_handed(moment)
                case AckWritten():
                    yield from self._is_acked(moment)
                case SessionOver():
                    self._over()

    def _is_asked(self, asked: SettleCalled) -> None:
        """Hold an ack, unless an earlier copy of its message is still on its way to the application."""
        entry, place = asked.entry, asked.call.message.message_id.batch_index
        if asked.is_nack or asked.call.cumulative or asked.session is None:
            self._held.get(entry, {}).pop(place, None)
        elif self._came[entry] == self._handed[entry, place]:
            self._held.setdefault(entry, {}).setdefault(place, HeldAck(asked.call))

    def _is_called(self, called: SettleCompleted) -> None:
        held = self._held.get(called.call.entry, {}).get(called.call.message.message_id.batch_index)
        if held is not None and held.call.operation is called.call.operation:
            held.taken = True

    def _comes(self, sent: Dispatched) -> None:
        frame, meta = sent.event, sent.event.meta
        self._came[sent.entry] += 1
        is_batch = meta is not None and bool(meta.batch) and meta.chunk_id is None and frame.intact is not False
        members = self._held.get(sent.entry, {})
        for place, held in list(members.items()):
            if is_batch and held.taken and held.again is None and is_open(frame, place):
                held.again = frame
            else:
                del members[place]

    def _is_handed(self, handed: Delivered) -> Says:
        self._handed[handed.entry, handed.place] += 1
        held = self._held.get(handed.entry, {}).get(handed.place)
        if held is not None and held.again is not None:
            held.delivered = held.delivered or handed.event
            if held.certain:
                yield from self._handed_over(held, handed.place)

    def _is_acked(self, wrote: AckWritten) -> Says:
        """Judge an ACK. Its messages were held for certain if it left a good while after their batch had come again."""
        if wrote.is_cumulative:
            self._held.clear()
            return
        for id in wrote.event.ids:
            members = self._held.get(Entry(wrote.session.topic, id.ledger, id.entry), {})
            for place, held in list(members.items()):
                again, bounds = held.again, self._timeline.bounds
                if again is None or not bounds.is_past("crossing", again.t_ns, wrote.event.t_ns):
                    del members[place]
                elif not held.certain:
                    held.certain = True
                    yield Exercised(wrote.event)
                    yield from self._handed_over(held, place) if held.delivered is not None else ()

    def _handed_over(self, held: HeldAck, place: int) -> Says:
        self._held[held.call.entry].pop(place, None)
        yield from each([held], judge_delivered_again, self._timeline)

    def _over(self) -> None:
        self._held.clear()
        self._came.clear()
        self._handed.clear()


def _consumers(timeline: Timeline) -> Iterator[Consumer]:
    for consumer in timeline.consumers:
        by_index = in_force(timeline.view, consumer, "batch_index_ack") and holds_acks(timeline.view, consumer)
        if by_index and any(call.invoke.verb == "ack" for call in timeline.calls(consumer)):
            yield consumer


@check("ack.grouped-ack-filters-batch-member", of=_consumers)
def grouped_ack_filters_batch_member(timeline: Timeline, consumer: Consumer) -> Says:
    """ack.grouped-ack-filters-batch-member: of a batch that is redelivered, messages whose acknowledgment is pending
    are dropped."""
    yield from _Walk(timeline, consumer).says()
