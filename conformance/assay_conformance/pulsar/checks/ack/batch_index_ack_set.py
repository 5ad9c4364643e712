from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.checks.consumption import bit_of, is_open, listed, moves_to_dead_letter
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.ack._batch_index import Seeks, batched_consumers, is_kept
from assay_conformance.pulsar.checks.ack._owed import never_left
from assay_conformance.pulsar.timeline import Call, Consumer, Entry, Exercised, Says, Timeline, breach, check, each, ms
from assay_conformance.pulsar.timeline.courses import (
    AckWritten,
    Delivered,
    Dispatched,
    SessionOver,
    SettleCalled,
    SettleCompleted,
)


@dataclass(slots=True)
class _Bits:
    """One batch entry of one consumer. `asked`: messages the application settled, in whichever delivery, or that came
    settled; `called`: those of its last delivery, by calls that succeeded; `reached`: likewise, by cumulative calls.
    `copies` of them may still be handed over; where that was so when the entry came again, which of the two a call is
    about is not known: `mixed`."""

    consumer: Consumer
    entry: Entry
    size: int
    frame: Frame
    asked: set[int] = field(default_factory=set)
    called: dict[int, Call] = field(default_factory=dict)
    reached: dict[int, Call] = field(default_factory=dict)
    sent: set[int] = field(default_factory=set)
    copies: int = 0
    mixed: bool = False

    def comes(self, frame: Frame) -> None:
        """Note that the batch comes once more, or for the first time."""
        self.frame, self.called, self.reached, self.sent = frame, {}, {}, set()
        self.mixed = self.copies > 0
        self.copies += sum(is_open(frame, index) for index in range(self.size))
        self.asked.update(index for index in range(self.size) if not is_open(frame, index))
        self.asked.update(index for index, member in enumerate(frame.members) if member.compacted_out)

    def is_called(self, call: Call) -> None:
        """Note that an ack of a message of its last delivery succeeded."""
        index = call.message.message_id.batch_index
        if self.mixed or call.message.seq < self.frame.seq:
            return
        if not call.cumulative:
            self.called.setdefault(index, call)
            return
        for before in range(index + 1):
            if is_open(self.frame, before) and not _is_compacted(self.frame, before):
                self.reached.setdefault(before, call)


class _Ack(NamedTuple):
    """An ACK of a batch, by which `cleared` are settled. `owed`: what it might have settled as well, and did not."""

    bits: _Bits
    frame: Frame
    has_set: bool
    cleared: set[int]
    owed: dict[int, Call]


def _course(timeline: Timeline, consumer: Consumer) -> Says:
    batches: dict[Entry, _Bits] = {}
    seeks = Seeks(timeline, consumer)
    for moment in timeline.course(consumer):
        if isinstance(moment, Dispatched):
            if not is_kept(timeline, moment.entry):
                continue
            size = (None if moment.event.meta is None else moment.event.meta.batch) or 0
            if size > 1 and moment.event.to_receiver and moment.event.intact is not False:
                bits = batches.setdefault(moment.entry, _Bits(consumer, moment.entry, size, moment.event))
                bits.comes(moment.event)
        elif isinstance(moment, Delivered) and moment.entry in batches:
            batches[moment.entry].copies -= 1
        elif isinstance(moment, SettleCalled) and not moment.is_nack:
            _is_asked(batches, moment.call)
        elif isinstance(moment, SettleCompleted) and not moment.is_nack and moment.session is not None:
            if moment.call.entry in batches:
                batches[moment.call.entry].is_called(moment.call)
        elif isinstance(moment, AckWritten):
            yield from each(_acks(batches, moment, seeks), _clears_what_was_acked, timeline)
        elif isinstance(moment, SessionOver) and moment.by_client is not None:
            for bits in batches.values():
                calls = (*bits.called.items(), *bits.reached.items())
                owed = (call for index, call in calls if index not in bits.sent)
                first = next(owed, None) if moment.ends(bits.entry) else None
                if first is not None and bits.frame.seq > moment.session.request.seq:
                    yield from each([first], _judge_forgotten, timeline, bits, moment.by_client)


def _is_asked(batches: dict[Entry, _Bits], call: Call) -> None:
    """Note an ack call.

    A message counts as settled from the moment that the bench asked for it. A cumulative ack settles all entries before
    its own, too.
    """
    own = batches.get(call.entry)
    if own is not None:
        own.asked.update(call.members)
    for entry, bits in batches.items() if call.cumulative else ():
        if entry != call.entry and call.covers(entry) and len(bits.asked) < bits.size:
            bits.asked.update(range(bits.size))


def _acks(batches: dict[Entry, _Bits], wrote: AckWritten, seeks: Seeks) -> Iterator[_Ack]:
    """Yield what an ACK says of each batch.

    A broker adds up what ACKs say, so what left in an earlier one need not be in this one. What a seek passed over may
    be in it.
    """
    for place, id in enumerate(wrote.event.ids):
        entry = Entry(wrote.session.topic, id.ledger, id.entry)
        words = wrote.event.ack_sets[place] if place < len(wrote.event.ack_sets) else ()
        for earlier, bits in batches.items() if wrote.is_cumulative else ():
            if earlier.topic == entry.topic and earlier < entry and len(bits.sent) < bits.size:
                bits.sent.update(range(bits.size))
        if entry in batches:
            bits = batches[entry]
            bits.asked |= seeks.skipped(entry, bits.size, wrote.event)
            cleared = {index for index in range(bits.size) if not (words and bit_of(words, index))}
            bits.sent |= cleared
            calls = bits.reached if wrote.is_cumulative else bits.called
            owed = {index: call for index, call in calls.items() if index not in bits.sent}
            yield _Ack(bits, wrote.event, bool(words), cleared, owed)


def _is_compacted(frame: Frame, index: int) -> bool:
    return index < len(frame.members) and bool(frame.members[index].compacted_out)


@check("ack.batch-index-ack-set")
def batch_index_ack_set(timeline: Timeline) -> Says:
    """ack.batch-index-ack-set: the ack_set of an ACK clears the bits of messages that were acknowledged by then, and no
    others.

    An acknowledgment that the client has held for longer than a group interval must be in it.
    """
    for consumer in batched_consumers(timeline, index_ack=True):
        if not moves_to_dead_letter(timeline.view, consumer):
            yield from _course(timeline, consumer)


def _clears_what_was_acked(timeline: Timeline, ack: _Ack) -> Says:
    bits, frame, has_set, cleared, owed = ack
    interval_ns = timeline.ack_interval_ns(bits.consumer) or 0
    late = {
        index: call
        for index, call in owed.items()
        if timeline.bounds.is_past("ack-flush", call.called_ns + interval_ns, frame.t_ns)
    }
    sent = f"consumer {bits.consumer.handle} sent an ACK at {ms(frame.t_ns)}"
    if cleared - bits.asked:
        yield breach(
            "open-message-acked",
            f"{sent} that acknowledges messages {listed(cleared - bits.asked)} of batch {bits.entry}; expected their "
            "bits to be set, since the application had not acknowledged them: they can never be redelivered",
            *(bits.frame, frame),
        )
    elif late:
        yield breach(
            "acked-message-open",
            f"{sent} that leaves messages {listed(late)} of batch {bits.entry} unacknowledged; expected their bits to "
            "be cleared, since the application had acknowledged them more than a group interval before",
            *(next(iter(late.values())).invoke, frame),
        )
    elif has_set and len(cleared) == bits.size:
        yield breach(
            "ack-set-of-nothing",
            f"{sent} of batch {bits.entry} with an ack_set that has no bit left; expected an ACK without ack_set",
            *(bits.frame, frame),
        )
    else:
        yield Exercised(frame)


def _judge_forgotten(timeline: Timeline, bits: _Bits, end: Frame, call: Call) -> Says:
    what = f"message {call.message.message_id.batch_index} of batch {bits.entry}"
    yield from never_left(timeline, "never-acked", call, call.called_ns, end, what)
