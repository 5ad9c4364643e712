from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.timeline import (
    AckCall,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ms,
)
from assay_conformance.pulsar.timeline.arrivals import Arrivals, Place
from assay_conformance.pulsar.timeline.assembly import ChunkFate


def _acked(timeline: Timeline) -> Iterator[tuple[AckCall, tuple[Entry, ...]]]:
    """Yield acks of messages of several chunks, with these."""
    chunks: dict[Place, list[tuple[int, tuple[Entry, ...]]]] = {}
    for chunk in timeline.once(Arrivals).all:
        if chunk.fate is ChunkFate.COMPLETE and chunk.before:
            chunks.setdefault(chunk.place, []).append((chunk.frame.seq, (*chunk.before, chunk.entry)))
    for ack in timeline.ack_calls if chunks else ():
        taken = ack.taken
        came = [its for seq, its in chunks.get((ack.handle, ack.entry), ()) if taken is not None and seq < taken.seq]
        if came:
            yield ack, came[-1]


@check("chunking.acks-every-chunk", of=_acked)
def acks_every_chunk(timeline: Timeline, acked: tuple[AckCall, tuple[Entry, ...]]) -> Says:
    """chunking.acks-every-chunk: acknowledging a message acknowledges all of its chunks."""
    (ack, chunks), taken, session = acked, acked[0].taken, acked[0].taken_on
    over = None if taken is None or session is None else timeline.consumer_sessions.end_after(session, taken)
    if session is None or over is None:
        return
    written, called_ns = timeline.written_acks(session), ack.call.called_ns
    left = next((entry for entry in chunks if not written.is_settled(entry, over)), None)
    if left is None:
        yield Exercised(over)
    elif timeline.is_ack_missing(ack.call.consumer, called_ns, over):
        yield breach(
            "chunk-not-acked",
            f"the application acknowledged {ack.entry}, a message of {len(chunks)} chunks, at consumer "
            f"{ack.handle} at {ms(called_ns)}; expected all chunks to be acknowledged; chunk {left} was not by "
            f"{ms(over.t_ns)} and will be redelivered",
            *(ack.call.invoke, over),
        )
