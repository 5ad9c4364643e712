from __future__ import annotations

from assay_conformance.pulsar.checks.chunking._given_up import Chunks, GivenUp, judge_given_up
from assay_conformance.pulsar.checks.chunking._intact import judge_intact
from assay_conformance.pulsar.timeline import Says, Timeline, check, each, ms
from assay_conformance.pulsar.timeline.arrivals import Arrivals, Chunk, Place
from assay_conformance.pulsar.timeline.assembly import ChunkFate


@check("chunking.restarts-at-first-chunk")
def restarts_at_first_chunk(timeline: Timeline) -> Says:
    """chunking.restarts-at-first-chunk: a first chunk that comes again as another entry restarts its message, and the
    chunks held are acknowledged; as the same entry it is a redelivery, and the other chunks will be redelivered, too.
    """
    given_up, whole = _restarted(timeline)
    yield from each(given_up, judge_given_up, timeline)
    yield from judge_intact(timeline, whole, "one of those that were restarted")


def _restarted(timeline: Timeline) -> tuple[list[GivenUp], dict[Place, Chunk]]:
    """Return what was given up at a restart, and the last chunks of restarted messages."""
    found, whole, restarted = list[GivenUp](), dict[Place, Chunk](), set[tuple[int, str]]()
    arrivals = timeline.once(Arrivals)
    for chunk in arrivals.all:
        if chunk.fate is ChunkFate.RESTARTED and arrivals.is_beyond(chunk):
            restarted.discard(chunk.key)  # It may have been dropped for another, and be new again.
        elif chunk.fate is ChunkFate.RESTARTED:
            restarted.add(chunk.key)
            redelivered = chunk.entry in chunk.before
            if not redelivered:
                _stop(found, chunk)
            # An expired message was dropped, and later chunks of it were not held.
            if redelivered or not timeline.once(Chunks).may_have_expired(chunk, chunk.frame):
                why = f"its message was restarted at {ms(chunk.frame.t_ns)}"
                code = "redelivered-acked" if redelivered else "old-not-acked"
                found.append(GivenUp(chunk, chunk.before, to_ack=not redelivered, why=why, code=code))
        elif chunk.fate is ChunkFate.COMPLETE and chunk.key in restarted:
            restarted.discard(chunk.key)
            whole.setdefault(chunk.place, chunk)
            _stop(found, chunk)
        elif chunk.fate not in (ChunkFate.APPENDED, ChunkFate.COMPLETE):
            restarted.discard(chunk.key)
    return found, whole


def _stop(given_up: list[GivenUp], by: Chunk) -> None:
    """Stop judging redelivered chunks: they belong to the whole or restarted message now, and are settled with it."""
    chunks = {*by.before, by.entry}
    for one in given_up:
        if not one.to_ack and chunks.intersection(one.entries):
            one.until = one.until or by.frame
