from __future__ import annotations

from assay_conformance.pulsar.checks.chunking._intact import judge_intact
from assay_conformance.pulsar.timeline import Says, Timeline, check
from assay_conformance.pulsar.timeline.arrivals import Arrivals, Chunk, Place
from assay_conformance.pulsar.timeline.assembly import ChunkFate


@check("chunking.assembles-by-uuid")
def assembles_by_uuid(timeline: Timeline) -> Says:
    """chunking.assembles-by-uuid: messages whose chunks are interleaved with those of others, where each chunk came
    once and in order, are received once they are whole, and as they were sent."""
    interleaved, mixed, disturbed = dict[Place, Chunk](), set[tuple[int, str]](), set[tuple[int, str]]()
    for chunk in timeline.once(Arrivals).all:
        if chunk.others:
            mixed |= {(chunk.key[0], uuid) for uuid in chunk.others} | {chunk.key}
        if chunk.fate is ChunkFate.STARTED:
            disturbed.discard(chunk.key)
        elif chunk.fate is ChunkFate.COMPLETE:
            if chunk.key in mixed - disturbed:
                interleaved.setdefault(chunk.place, chunk)
        elif chunk.fate is not ChunkFate.APPENDED:
            disturbed.add(chunk.key)
    yield from judge_intact(timeline, interleaved, "one of several messages with interleaved chunks")
