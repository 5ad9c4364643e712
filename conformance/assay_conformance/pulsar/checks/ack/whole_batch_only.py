"""ack.whole-batch-only"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    REFUSED,
    buries,
    entry_on,
    from_client,
    late,
    number_in_force,
    to_client,
)
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.checks.written import AckCheck, Written
from assay_conformance.model.event import Event, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.ack._batch_index import index_ack_off


@dataclass(slots=True)
class _Batch:
    """The messages of one batch entry as one consumer got them, and how far they are settled."""

    size: int
    frame: Frame
    settled: set[int] = field(default_factory=set)
    partial_ns: int | None = None
    completing: Call | None = None
    sent: bool = False
    unclear: bool = False
    copies: int = 0
    """How often it came: a client settles each copy for itself, so of several none may be settled to the last."""


class WholeBatchOnly(AckCheck):
    """Without batch-index acks, an entry is acknowledged when the last of its messages is, and not before.

    A message counts as settled from the moment the bench asked for it, in whichever delivery, so that only an ACK sent
    against all evidence is a breach. The precondition is a batch left half settled for a whole group interval.
    """

    requirement = RequirementId("ack.whole-batch-only")
    needs = (Trait.BATCH,)

    def start(self) -> None:
        self._batches: dict[tuple[int, Entry], _Batch] = {}
        self._settled_to: dict[tuple[int, str], Entry] = {}

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        meta = event.meta
        session = self.tracker.consumer_of(event)
        if meta is None or (meta.batch or 0) < 2 or not to_client(event) or session is None:
            return
        consumer = session.consumer
        if consumer is None or not index_ack_off(self.view, consumer) or buries(self.view, consumer):
            return
        batch = self._batches.setdefault(
            (consumer.handle, entry_on(session, event.ids[0])), _Batch(meta.batch or 0, event)
        )
        batch.copies += 1
        filtered = any(event.ack_sets) or any(member.compacted_out for member in event.members)
        batch.unclear = batch.unclear or filtered or event.intact is False

    def asked(self, call: Call) -> None:
        if call.invoke.verb != "ack":
            return
        if call.cumulative:
            place = (call.consumer.handle, call.entry.topic)
            self._settled_to[place] = max(self._settled_to.get(place, call.entry), call.entry)
        own = self._batches.get((call.consumer.handle, call.entry))
        if own is None:
            return
        own.unclear = own.unclear or self.tracker.foresight.outcomes.get(call.invoke.op) in REFUSED
        index = call.message.message_id.batch_index
        before = len(own.settled)
        own.settled.update(range(index + 1) if call.cumulative else (index,))
        if before < own.size <= len(own.settled):
            own.completing = call

    def called(self, call: Call) -> None:
        own = self._batches.get((call.consumer.handle, call.entry))
        if own is not None and 0 < len(own.settled) < own.size and own.partial_ns is None:
            own.partial_ns = call.called_ns

    def acked(self, ack: Written) -> None:
        consumer, session, event = ack
        if event.ack_type == "Cumulative":
            return
        for place, id in enumerate(event.ids):
            entry = entry_on(session, id)
            batch = self._batches.get((consumer.handle, entry))
            if batch is not None and not batch.unclear:
                words = event.ack_sets[place] if place < len(event.ack_sets) else ()
                self._judge(consumer, entry, batch, event, partial=any(words))

    def _judge(self, consumer: OpenedConsumer, entry: Entry, batch: _Batch, event: Frame, partial: bool) -> None:
        batch.sent = True
        told = f"{len(batch.settled)} of the {batch.size} messages in entry {entry}"
        if partial:
            self.breach(
                "ack-set-sent",
                f"consumer {consumer.handle} has batch-index acknowledgment off and sent an ack_set for entry {entry} "
                f"at {ms(event.t_ns)}, expected nothing until all {batch.size} messages are acknowledged",
                batch.frame,
                event,
            )
        elif len(batch.settled) < batch.size and not self._behind(consumer, entry):
            self.breach(
                "acked-early",
                f"consumer {consumer.handle} was told to acknowledge {told} and sent an ACK of the whole entry at "
                f"{ms(event.t_ns)}: the other messages can never be redelivered",
                batch.frame,
                event,
            )
        elif batch.completing is not None and self._held_back(consumer, batch, batch.completing.invoke):
            self.exercise(event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        """A batch settled to the last message on this session, long ago, and never acknowledged."""
        consumer = session.consumer
        if consumer is None or not isinstance(event, Frame) or not from_client(event):
            return
        interval_ms = number_in_force(self.view, consumer, "ack_group_ms")
        for (handle, entry), batch in self._batches.items():
            call = batch.completing
            batch.unclear = batch.unclear or event.command == "SEEK"
            if handle != consumer.handle or batch.sent or batch.unclear or call is None or interval_ms is None:
                continue
            completion = call.operation.completion
            if call.cumulative or completion is None or completion.outcome is not Outcome.OK:
                continue
            if batch.frame.seq < session.request.seq or batch.copies > 1:
                continue
            if late("ack-flush", completion.t_ns + interval_ms * MS, event.t_ns):
                self.suspect(
                    "ack-flush",
                    completion.t_ns,
                    event.t_ns,
                    "never-acked",
                    f"consumer {consumer.handle} was told by {ms(completion.t_ns)} to acknowledge all {batch.size} "
                    f"messages of entry {entry} and closed at {ms(event.t_ns)} without an ACK of it",
                    call.invoke,
                    event,
                )

    def _behind(self, consumer: OpenedConsumer, entry: Entry) -> bool:
        """A cumulative ack of a later entry settles all of this one."""
        reached = self._settled_to.get((consumer.handle, entry.topic))
        return reached is not None and entry < reached

    def _held_back(self, consumer: OpenedConsumer, batch: _Batch, completing: Invoke) -> bool:
        """Half settled for so long that a client which sends too early would have."""
        interval_ms = number_in_force(self.view, consumer, "ack_group_ms")
        long_ns = (interval_ms or 0) * MS
        return batch.partial_ns is not None and completing.t_ns - batch.partial_ns >= long_ns
