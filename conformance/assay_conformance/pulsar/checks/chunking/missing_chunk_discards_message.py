from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.checks.chunking._given_up import Chunks, GivenUp, judge_given_up
from assay_conformance.pulsar.timeline import Entry, Says, Timeline, check, ms
from assay_conformance.pulsar.timeline.arrivals import Arrivals
from assay_conformance.pulsar.timeline.assembly import ChunkFate


def _gaps(timeline: Timeline) -> Iterator[GivenUp]:
    """Yield what was given up, until one of the chunks is redelivered.

    The message may be assembled after all, and its chunks acknowledged with it.
    """
    open_: dict[Entry, list[GivenUp]] = {}
    found: list[GivenUp] = []
    for chunk in timeline.once(Arrivals).all:
        if chunk.fate is not ChunkFate.GAP:
            for given_up in open_.pop(chunk.entry, ()):
                given_up.until = given_up.until or chunk.frame
        elif not timeline.once(Chunks).may_have_expired(chunk, chunk.frame):
            why = f"a chunk of its message was missing at {ms(chunk.frame.t_ns)}"
            entries = (*chunk.before, chunk.entry)
            found.append(GivenUp(chunk, entries, to_ack=False, why=why, code="gap-acked"))
            for entry in entries:
                open_.setdefault(entry, []).append(found[-1])
    return iter(found)


@check("chunking.missing-chunk-discards-message", of=_gaps)
def missing_chunk_discards_message(timeline: Timeline, given_up: GivenUp) -> Says:
    """chunking.missing-chunk-discards-message: a chunk after a gap ends its message, and is left for redelivery
    together with the chunks before the gap."""
    yield from judge_given_up(timeline, given_up)
