from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import REFUSED
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.ack._batch_index import kept_batches
from assay_conformance.pulsar.checks.ack._owed import never_left
from assay_conformance.pulsar.timeline import BatchEntry, Exercised, Says, Timeline, breach, check, ms


class _Settled(NamedTuple):
    """An ACK of a batch, or, where it is none, the end of a session by which one should have left. `settled`: how many
    messages the application had acknowledged."""

    batch: BatchEntry
    then: Frame
    settled: int
    is_partial: bool = False


def _settled(timeline: Timeline) -> Iterator[_Settled]:
    for batch in kept_batches(timeline, index_ack=False):
        yield from _acks(batch)
        yield from _ends(batch)


def _acks(batch: BatchEntry) -> Iterator[_Settled]:
    for frame, is_cumulative, ack_set in batch.acks:
        if not is_cumulative and _is_clear(batch, frame):
            yield _Settled(batch, frame, len(batch.acked(frame)), any(ack_set))


def _ends(batch: BatchEntry) -> Iterator[_Settled]:
    for over in batch.ends:
        end, first = over.by_client, batch.came[0]
        if end is not None and over.session.request.seq < first.seq < end.seq and _is_owed(batch, end):
            yield _Settled(batch, end, batch.size)


def _is_clear(batch: BatchEntry, by: Frame) -> bool:
    """Return whether all of the batch came whole, and is settled by calls alone that were taken."""
    came = [frame for frame in batch.came if frame.seq < by.seq]
    is_whole = not any(
        any(frame.ack_sets) or any(member.compacted_out for member in frame.members) or frame.intact is False
        for frame in came
    )
    ends = (call.operation.completion for call in batch.asked.values() if call.invoke.seq < by.seq)
    is_refused = any(end is not None and end.outcome in REFUSED for end in ends)
    moves = (over.by_client for over in batch.ends if came and came[0].seq < over.event.seq <= by.seq)
    return is_whole and not is_refused and not any(one is not None and one.command == "SEEK" for one in moves)


def _is_owed(batch: BatchEntry, end: Frame) -> bool:
    """Return whether it was settled to the last message, by a call that had succeeded, and no ACK of it had left.

    A client settles each copy for itself, so of several none may be settled to the last. A cumulative ACK of a later
    entry acknowledges it as well.
    """
    call, copies = batch.completing, sum(frame.seq < end.seq for frame in batch.came)
    if call is None or call.cumulative or copies > 1 or not _is_clear(batch, end):
        return False
    is_sent = any(ack.frame.seq < end.seq and not (ack.is_cumulative and any(ack.ack_set)) for ack in batch.acks)
    is_sent = is_sent or batch.is_passed(batch.came[0], end)
    return not is_sent and call.operation.had_succeeded(end)


@check("ack.whole-batch-only", of=_settled)
def whole_batch_only(timeline: Timeline, one: _Settled) -> Says:
    """ack.whole-batch-only: without batch-index acks, an entry is acknowledged when the last of its messages is, and
    not before.

    It is exercised by a batch of which only some messages were acknowledged for a whole group interval.
    """
    batch, then, settled, is_partial = one
    consumer, entry = batch.consumer, batch.entry
    if then.command != "ACK":
        yield from _judge_forgotten(timeline, batch, then)
    elif is_partial:
        yield breach(
            "ack-set-sent",
            f"consumer {consumer.handle} has batch-index acknowledgment off and sent an ack_set for entry {entry} at "
            f"{ms(then.t_ns)}, expected nothing until all {batch.size} messages are acknowledged",
            *(batch.came[0], then),
        )
    elif settled < batch.size:
        yield breach(
            "acked-early",
            f"consumer {consumer.handle} was asked to acknowledge {settled} of the {batch.size} messages in entry "
            f"{entry}; expected no ACK of the entry yet; it sent one at {ms(then.t_ns)}: the other messages can never "
            "be redelivered",
            *(batch.came[0], then),
        )
    elif _was_held_back(timeline, batch, then):
        yield Exercised(then)


def _was_held_back(timeline: Timeline, batch: BatchEntry, ack: Frame) -> bool:
    """Return whether it was half settled for so long that a client which sends too early would have sent."""
    interval_ns, call = timeline.ack_interval_ns(batch.consumer) or 0, batch.completing
    if call is None or call.invoke.seq > ack.seq or not batch.called or batch.called[0].event.seq > call.invoke.seq:
        return False
    return call.invoke.t_ns - batch.called[0].call.called_ns >= interval_ns


def _judge_forgotten(timeline: Timeline, batch: BatchEntry, end: Frame) -> Says:
    call = batch.completing
    taken = None if call is None else call.operation.completion
    if call is not None and taken is not None:
        what = f"all {batch.size} messages of entry {batch.entry}"
        yield from never_left(timeline, "never-acked", call, taken.t_ns, end, what)
