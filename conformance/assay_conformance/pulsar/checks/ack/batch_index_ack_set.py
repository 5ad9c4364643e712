"""ack.batch-index-ack-set"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    bit_of,
    buries,
    entry_on,
    from_client,
    is_open,
    late,
    listed,
    number_in_force,
    to_client,
)
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.checks.written import AckCheck, Written
from assay_conformance.model.event import Event, Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.ack._batch_index import index_ack_off


@dataclass(slots=True)
class _Bits:
    """One batch entry of one consumer. `asked`: messages the application settled, in whichever delivery, or that came
    settled; `told`: those of its last delivery, and by when; `reached`: likewise, by cumulative calls. `copies` of them
    may still be handed over; where that was so when the entry came again, which of the two a call is about is not
    known: `mixed`."""

    size: int
    frame: Frame
    asked: set[int] = field(default_factory=set)
    told: dict[int, Call] = field(default_factory=dict)
    reached: dict[int, Call] = field(default_factory=dict)
    sent: set[int] = field(default_factory=set)
    copies: int = 0
    mixed: bool = False


class BatchIndexAckSet(AckCheck):
    """An ACK of the entry clears the bits of what was settled by then, and of nothing else.

    What the client was told longer ago than a group interval must be in it. A message counts as settled from the moment
    the bench asked for it.
    """

    requirement = RequirementId("ack.batch-index-ack-set")
    needs = (Trait.BATCH,)

    def start(self) -> None:
        self._entries: dict[tuple[int, Entry], _Bits] = {}

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not to_client(event) or event.intact is False:
            return
        consumer, size = session.consumer, (event.meta.batch if event.meta is not None else None) or 0
        if size < 2 or index_ack_off(self.view, consumer) or buries(self.view, consumer):
            return
        key = (consumer.handle, entry_on(session, event.ids[0]))
        bits = self._entries.setdefault(key, _Bits(size, event))
        bits.frame, bits.told, bits.reached, bits.sent = event, {}, {}, set()
        bits.mixed = bits.copies > 0
        bits.copies += sum(is_open(event, index) for index in range(size))
        bits.asked.update(index for index in range(size) if not is_open(event, index))
        bits.asked.update(index for index, member in enumerate(event.members) if member.compacted_out)

    @on(Received)
    def received(self, event: Received) -> None:
        entry = self.tracker.entries.get(event.seq)
        bits = None if entry is None else self._entries.get((event.handle, entry))
        if bits is not None:
            bits.copies -= 1

    def asked(self, call: Call) -> None:
        bits = self._entries.get((call.consumer.handle, call.entry))
        if call.invoke.verb == "ack" and call.cumulative:
            self._reached(call)
        elif call.invoke.verb == "ack" and bits is not None:
            bits.asked.add(call.message.message_id.batch_index)

    def _reached(self, call: Call) -> None:
        """A cumulative ack settles all entries before its own, too."""
        for (handle, entry), bits in self._entries.items():
            if handle != call.consumer.handle or entry.topic != call.entry.topic or entry > call.entry:
                continue
            index = call.message.message_id.batch_index if entry == call.entry else bits.size
            bits.asked.update(range(min(index + 1, bits.size)))

    def called(self, call: Call) -> None:
        bits = self._entries.get((call.consumer.handle, call.entry))
        fresh = bits is not None and call.message.seq > bits.frame.seq and self.session_of(call) is not None
        if bits is None or not fresh or bits.mixed or call.invoke.verb != "ack":
            return
        index = call.message.message_id.batch_index
        if not call.cumulative:
            bits.told.setdefault(index, call)
            return
        for before in range(index + 1):
            if is_open(bits.frame, before) and not _is_compacted(bits.frame, before):
                bits.reached.setdefault(before, call)

    def acked(self, ack: Written) -> None:
        consumer, session, event = ack
        for place, id in enumerate(event.ids):
            entry = entry_on(session, id)
            bits = self._entries.get((consumer.handle, entry))
            words = event.ack_sets[place] if place < len(event.ack_sets) else ()
            if event.ack_type == "Cumulative":
                self._covers(consumer, entry)
            if bits is not None:
                self._judge(consumer, entry, bits, words, event)

    def _covers(self, consumer: OpenedConsumer, reached: Entry) -> None:
        """All entries before it are settled."""
        for (handle, entry), bits in self._entries.items():
            if handle == consumer.handle and entry.topic == reached.topic and entry < reached:
                bits.sent.update(range(bits.size))

    def _judge(self, consumer: OpenedConsumer, entry: Entry, bits: _Bits, words: tuple[int, ...], event: Frame) -> None:
        cleared = {index for index in range(bits.size) if not (words and bit_of(words, index))}
        # A broker adds up what it is told, so what left in an earlier ACK need not be in this one.
        bits.sent |= cleared
        interval_ms = number_in_force(self.view, consumer, "ack_group_ms") or 0
        owed = {
            index: call
            for index, call in (bits.reached if event.ack_type == "Cumulative" else bits.told).items()
            if index not in bits.sent and late("ack-flush", call.called_ns + interval_ms * MS, event.t_ns)
        }
        if cleared - bits.asked:
            self.breach(
                "open-message-acked",
                f"consumer {consumer.handle} sent an ACK at {ms(event.t_ns)} that settles messages "
                f"{listed(cleared - bits.asked)} of batch {entry}, which the application had not acknowledged: they "
                "can never be redelivered",
                bits.frame,
                event,
            )
        elif owed:
            self.breach(
                "acked-message-open",
                f"consumer {consumer.handle} sent an ACK at {ms(event.t_ns)} that leaves messages {listed(owed)} of "
                f"batch {entry} open, which the application had acknowledged long before",
                next(iter(owed.values())).invoke,
                event,
            )
        elif words and len(cleared) == bits.size:
            self.breach(
                "ack-set-of-nothing",
                f"consumer {consumer.handle} sent an ACK of batch {entry} at {ms(event.t_ns)} with an ack_set in which "
                "no message is left, expected none",
                bits.frame,
                event,
            )
        else:
            self.exercise(event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        consumer = session.consumer
        interval_ms = None if consumer is None else number_in_force(self.view, consumer, "ack_group_ms")
        if consumer is None or interval_ms is None or not isinstance(event, Frame) or not from_client(event):
            return
        for (handle, entry), bits in self._entries.items():
            if handle != consumer.handle or entry.topic != session.topic or bits.frame.seq < session.request.seq:
                continue
            told = (*bits.told.items(), *bits.reached.items())
            owed = [call for index, call in told if index not in bits.sent]
            if owed and late("ack-flush", owed[0].called_ns + interval_ms * MS, event.t_ns):
                self.suspect(
                    "ack-flush",
                    owed[0].called_ns,
                    event.t_ns,
                    "never-acked",
                    f"consumer {handle} was told at {ms(owed[0].called_ns)} to acknowledge message "
                    f"{owed[0].message.message_id.batch_index} of batch {entry} and closed at {ms(event.t_ns)} "
                    "without an ACK of it",
                    owed[0].invoke,
                    event,
                )


def _is_compacted(frame: Frame, index: int) -> bool:
    return index < len(frame.members) and bool(frame.members[index].compacted_out)
