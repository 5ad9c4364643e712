from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion
from assay_conformance.pulsar.checks.chunking._arrivals import Arrivals, Place
from assay_conformance.pulsar.checks.chunking._assembly import ChunkFate
from assay_conformance.pulsar.timeline import (
    AckCall,
    ConsumerSession,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ms,
)


class _Acked(NamedTuple):
    """A message of several chunks that the application acknowledged, and the session on which it came."""

    ack: AckCall
    taken: Completion
    session: ConsumerSession
    chunks: tuple[Entry, ...]


def _acked(timeline: Timeline) -> Iterator[_Acked]:
    chunks: dict[Place, list[tuple[int, tuple[Entry, ...]]]] = {}
    for chunk in timeline.once(Arrivals).all:
        if chunk.fate is ChunkFate.COMPLETE and chunk.before:
            chunks.setdefault(chunk.place, []).append((chunk.frame.seq, (*chunk.before, chunk.entry)))
    for ack in timeline.ack_calls if chunks else ():
        taken, session = ack.taken, ack.taken_on
        if taken is not None and session is not None:
            came = [its for seq, its in chunks.get((ack.handle, ack.entry), ()) if seq < taken.seq]
            if came:
                yield _Acked(ack, taken, session, came[-1])


@check("chunking.acks-every-chunk", of=_acked)
def acks_every_chunk(timeline: Timeline, acked: _Acked) -> Says:
    """chunking.acks-every-chunk: acknowledging a message acknowledges all of its chunks."""
    (ack, taken, session, chunks), consumer = acked, acked.ack.call.consumer
    over = timeline.consumer_sessions.end_after(session, taken)
    if over is None:
        return
    written, called_ns = timeline.written_acks(session), ack.call.called_ns
    left = next((entry for entry in chunks if not written.is_settled(entry, over)), None)
    if left is None:
        yield Exercised(over)
    elif timeline.is_ack_missing(consumer, called_ns, over):
        yield breach(
            "chunk-not-acked",
            f"the application acknowledged {ack.entry}, a message of {len(chunks)} chunks, at consumer "
            f"{consumer.handle} at {ms(called_ns)}; expected all chunks to be acknowledged; chunk {left} was not by "
            f"{ms(over.t_ns)} and will be redelivered",
            *(ack.call.invoke, over),
        )
