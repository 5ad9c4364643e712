from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.chunking._given_up import Chunks
from assay_conformance.pulsar.timeline import MS, Entry, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.arrivals import EARLY_NS, Arrivals, Chunk
from assay_conformance.pulsar.timeline.assembly import ChunkFate


@dataclass(slots=True)
class _Incomplete:
    """A message that has begun and is to expire, with its chunks, until another fate than the next chunk befell it."""

    first: Chunk
    expiry_ns: int
    chunks: list[tuple[int, Entry]] = field(default_factory=list)
    until: Frame | None = None


def _incomplete(timeline: Timeline) -> Iterator[_Incomplete]:
    found, waiting = list[_Incomplete](), dict[tuple[int, str], _Incomplete]()
    for chunk in timeline.once(Arrivals).all:
        its, one = waiting.get(chunk.key), (chunk.frame.seq, chunk.entry)
        if chunk.fate is ChunkFate.APPENDED:
            # After its time the message may have been dropped, and its chunks are left to the broker.
            if its is not None and chunk.frame.t_ns < its.first.frame.t_ns + its.expiry_ns - EARLY_NS:
                its.chunks.append(one)
            continue
        if its is not None:
            its.until = chunk.frame
            del waiting[chunk.key]
        expiry_ns = (timeline.setting(chunk.consumer, "expire_incomplete_chunked_ms") or 0) * MS
        if chunk.fate is ChunkFate.STARTED and expiry_ns:
            found.append(_Incomplete(chunk, expiry_ns, [one]))
            waiting[chunk.key] = found[-1]
    return iter(found)


@check("chunking.expires-incomplete", of=_incomplete)
def expires_incomplete(timeline: Timeline, incomplete: _Incomplete) -> Says:
    """chunking.expires-incomplete: an incomplete message is acknowledged and dropped between one expiry time and two,
    which allows for a timer that runs once in an expiry time. The buffer may be full, so that its oldest message is
    acknowledged."""
    session, consumer, first = incomplete.first.session, incomplete.first.consumer, incomplete.first.frame
    expiry_ns, acks = incomplete.expiry_ns, timeline.written_acks(session, reports=True)
    over = timeline.consumer_sessions.end_after(session, first)
    if over is None:
        return
    stop = over.seq if incomplete.until is None else min(over.seq, incomplete.until.seq)
    for entry, ack in _early(timeline, incomplete, stop):
        yield breach(
            "expired-early",
            f"consumer {consumer.handle} acknowledged chunk {entry} of an incomplete message at {ms(ack.t_ns)}; "
            f"expected it to be kept for {ms(expiry_ns)} from {ms(first.t_ns)} on, when its first chunk came",
            *(first, ack),
        )
    is_known = timeline.setting(consumer, "ack_group_ms") is not None
    if stop < over.seq or not is_known or timeline.once(Arrivals).overflowed(session, over):
        return
    # What a cumulative acknowledgment covers that was lost is redelivered, and its client may know it for settled.
    left = (entry for _, entry in incomplete.chunks if not timeline.calls_about(consumer, entry))
    unacked = next((entry for entry in left if not acks.is_settled(entry, over)), None)
    if unacked is None:
        yield Exercised(first)
    elif timeline.is_ack_missing(consumer, first.t_ns, over, within_ns=2 * expiry_ns):
        yield breach(
            "not-expired",
            f"consumer {consumer.handle} got the first chunk of a message at {ms(first.t_ns)} and never the last, with "
            f"an expiry time of {ms(expiry_ns)}; expected chunk {unacked} to be acknowledged; it was not by "
            f"{ms(over.t_ns)}",
            *(first, over),
        )


def _early(timeline: Timeline, incomplete: _Incomplete, stop: int) -> Iterator[tuple[Entry, Frame]]:
    """Yield acknowledgments of its chunks before its time that nothing else explains."""
    first, chunks = incomplete.first, timeline.once(Chunks)
    for came, entry in incomplete.chunks:
        for ack in timeline.written_acks(first.session, reports=True).of_entry(entry):
            is_early = ack.t_ns - first.frame.t_ns < incomplete.expiry_ns - EARLY_NS
            if not came < ack.seq < stop or not is_early or timeline.once(Arrivals).overflowed(first.session, ack):
                continue
            if not chunks.may_be_acked(first.consumer, entry, ack):
                yield entry, ack
