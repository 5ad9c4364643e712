from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.checks.consumption import REFUSED, moves_to_dead_letter
from assay_conformance.model.event import Event, Frame, Outcome
from assay_conformance.pulsar.checks.ack._batch_index import Seeks, batched_consumers, is_kept
from assay_conformance.pulsar.checks.ack._owed import never_left
from assay_conformance.pulsar.timeline import Call, Consumer, Entry, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.courses import AckWritten, Dispatched, SessionOver, SettleCalled, SettleCompleted


@dataclass(slots=True)
class _Batch:
    """The messages of one batch entry as one consumer got them, and how far they are settled. `copies`: how often it
    came; a client settles each copy for itself, so of several none may be settled to the last."""

    consumer: Consumer
    entry: Entry
    size: int
    frame: Frame
    settled: set[int] = field(default_factory=set)
    partial_ns: int | None = None
    completing: Call | None = None
    sent: bool = False
    unclear: bool = False
    copies: int = 0


class _Settled(NamedTuple):
    """An ACK of a batch, or, where it is none, the end of a session by which one should have left. `settled`: how many
    messages the application had acknowledged."""

    batch: _Batch
    then: Frame
    settled: int
    is_partial: bool = False


def _settled(timeline: Timeline) -> Iterator[_Settled]:
    for consumer in batched_consumers(timeline, index_ack=False):
        if not moves_to_dead_letter(timeline.view, consumer):
            yield from _settled_of(timeline, consumer)


def _settled_of(timeline: Timeline, consumer: Consumer) -> Iterator[_Settled]:
    batches: dict[Entry, _Batch] = {}
    reached: dict[str, Entry] = {}
    seeks = Seeks(timeline, consumer)
    for moment in timeline.course(consumer):
        if isinstance(moment, Dispatched):
            if is_kept(timeline, moment.entry):
                _comes(batches, consumer, moment)
        elif isinstance(moment, SettleCalled) and not moment.is_nack:
            _is_asked(batches, reached, moment.call)
        elif isinstance(moment, SettleCompleted):
            own = batches.get(moment.call.entry)
            if own is not None and 0 < len(own.settled) < own.size and own.partial_ns is None:
                own.partial_ns = moment.call.called_ns
        elif isinstance(moment, AckWritten) and not moment.is_cumulative:
            yield from _acks(batches, reached, moment, seeks)
        elif isinstance(moment, SessionOver) and (end := moment.by_client) is not None:
            for batch in [one for one in batches.values() if moment.ends(one.entry)]:
                batch.unclear = batch.unclear or end.command == "SEEK"
                if batch.frame.seq > moment.session.request.seq and _is_owed(batch, end):
                    yield _Settled(batch, end, len(batch.settled))


def _comes(batches: dict[Entry, _Batch], consumer: Consumer, sent: Dispatched) -> None:
    frame, meta = sent.event, sent.event.meta
    if not frame.to_receiver or meta is None or (meta.batch or 0) < 2:
        return
    batch = batches.setdefault(sent.entry, _Batch(consumer, sent.entry, meta.batch or 0, frame))
    batch.copies += 1
    filtered = any(frame.ack_sets) or any(member.compacted_out for member in frame.members)
    batch.unclear = batch.unclear or filtered or frame.intact is False


def _is_asked(batches: dict[Entry, _Batch], reached: dict[str, Entry], call: Call) -> None:
    """Note an ack call.

    A message counts as settled from the moment that the bench asked for it, in whichever delivery, so that only an ACK
    against all evidence is a breach.
    """
    if call.cumulative:
        reached[call.entry.topic] = max(reached.get(call.entry.topic, call.entry), call.entry)
    own = batches.get(call.entry)
    if own is None:
        return
    end, before = call.operation.completion, len(own.settled)
    own.unclear = own.unclear or (end is not None and end.outcome in REFUSED)
    own.settled.update(call.members)
    if before < own.size <= len(own.settled):
        own.completing = call


def _acks(
    batches: dict[Entry, _Batch], reached: dict[str, Entry], wrote: AckWritten, seeks: Seeks
) -> Iterator[_Settled]:
    """Yield what an ACK settles.

    A cumulative ack of a later entry settles all of this one, and a seek what it passes over.
    """
    ack, topic = wrote.event, wrote.session.topic
    for place, id in enumerate(ack.ids):
        batch = batches.get(Entry(topic, id.ledger, id.entry))
        if batch is not None and not batch.unclear:
            batch.sent = True
            behind = topic in reached and batch.entry < reached[topic]
            partial = place < len(ack.ack_sets) and any(ack.ack_sets[place])
            settled = batch.settled | seeks.skipped(batch.entry, batch.size, ack)
            yield _Settled(batch, ack, batch.size if behind else len(settled), partial)


def _is_owed(batch: _Batch, end: Event) -> bool:
    """Return whether it was settled to the last message, by a call that had succeeded, and no ACK of it had left."""
    call = batch.completing
    if batch.sent or batch.unclear or batch.copies > 1 or call is None or call.cumulative:
        return False
    taken = call.operation.completion
    return taken is not None and taken.outcome is Outcome.OK and taken.seq < end.seq


@check("ack.whole-batch-only", of=_settled)
def whole_batch_only(timeline: Timeline, one: _Settled) -> Says:
    """ack.whole-batch-only: without batch-index acks, an entry is acknowledged when the last of its messages is, and
    not before.

    It is exercised by a batch of which only some messages were acknowledged for a whole group interval.
    """
    batch, then, settled, is_partial = one
    consumer, entry, call = batch.consumer, batch.entry, batch.completing
    if then.command != "ACK":
        yield from _judge_forgotten(timeline, batch, then)
    elif is_partial:
        yield breach(
            "ack-set-sent",
            f"consumer {consumer.handle} has batch-index acknowledgment off and sent an ack_set for entry {entry} at "
            f"{ms(then.t_ns)}, expected nothing until all {batch.size} messages are acknowledged",
            *(batch.frame, then),
        )
    elif settled < batch.size:
        yield breach(
            "acked-early",
            f"consumer {consumer.handle} was asked to acknowledge {settled} of the {batch.size} messages in entry "
            f"{entry}; expected no ACK of the entry yet; it sent one at {ms(then.t_ns)}: the other messages can never "
            "be redelivered",
            *(batch.frame, then),
        )
    elif call is not None and _was_held_back(timeline, batch, call):
        yield Exercised(then)


def _was_held_back(timeline: Timeline, batch: _Batch, call: Call) -> bool:
    """Return whether it was half settled for so long that a client which sends too early would have sent."""
    interval_ns = timeline.ack_interval_ns(batch.consumer) or 0
    return batch.partial_ns is not None and call.invoke.t_ns - batch.partial_ns >= interval_ns


def _judge_forgotten(timeline: Timeline, batch: _Batch, end: Frame) -> Says:
    call = batch.completing
    taken = None if call is None else call.operation.completion
    if call is not None and taken is not None:
        what = f"all {batch.size} messages of entry {batch.entry}"
        yield from never_left(timeline, "never-acked", call, taken.t_ns, end, what)
