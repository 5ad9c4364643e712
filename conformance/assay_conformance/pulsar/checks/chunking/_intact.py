"""Messages that must be received once they are whole, and as they were sent."""

from __future__ import annotations

from assay_conformance.model.event import Received
from assay_conformance.pulsar.timeline import Exercised, IncomingMessage, Says, Timeline, each
from assay_conformance.pulsar.timeline.arrivals import Arrivals, Chunk, Place, whole_not_delivered
from assay_conformance.pulsar.timeline.incoming import other_content


def judge_intact(timeline: Timeline, whole: dict[Place, Chunk], what: str) -> Says:
    """Judge these messages, by their last chunks; `what` is special about them."""
    handles = {handle for handle, _ in whole}
    yield from each(
        (one for one in timeline.all_received if one.handle in handles), _judge_as_sent, timeline, whole, what
    )
    yield from each(timeline.once(Arrivals).incoming if whole else (), _judge_received, timeline, whole, what)


def _judge_as_sent(timeline: Timeline, whole: dict[Place, Chunk], what: str, got: Received) -> Says:
    entry = timeline.entry_of(got)
    chunk = None if entry is None else whole.get((got.handle, entry))
    if chunk is None or chunk.frame.seq > got.seq:
        return
    member = chunk.frame.members[0] if chunk.frame.members else None
    if member is None or got.payload == member.payload:
        yield Exercised(got)
        return
    yield other_content("wrong-content", got, member, f"{entry}, {what},", chunk.frame)


def _judge_received(timeline: Timeline, whole: dict[Place, Chunk], what: str, incoming: IncomingMessage) -> Says:
    if (incoming.consumer.handle, incoming.entry) in whole:
        yield from whole_not_delivered(timeline, incoming, f", {what}")
