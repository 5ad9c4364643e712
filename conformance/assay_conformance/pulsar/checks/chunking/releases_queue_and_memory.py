from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Completion, ErrorClass, Frame, Outcome
from assay_conformance.pulsar.checks.chunking._pending_chunks import check_known, is_chunking, places_of
from assay_conformance.pulsar.checks.flow._full_queue import held, memory_surely_fits
from assay_conformance.pulsar.timeline import Exercised, Says, Send, Timeline, breach, check, ms


def _ends(timeline: Timeline) -> Iterator[tuple[Completion, Frame]]:
    """Yield how sends ended after the first chunk of their producer, and that chunk."""
    chunks: dict[int, Frame] = {}
    for unit in timeline.units:
        handle = unit.line.handle or 0
        if unit.is_chunk and (handle not in chunks or unit.first.seq < chunks[handle].seq):
            chunks[handle] = unit.first
    splits = {handle for handle in chunks if is_chunking(timeline, handle)}
    for end in timeline.events.completions("send") if splits else ():
        if end.handle in splits and chunks[end.handle].seq < end.seq:
            yield end, chunks[end.handle]


@check("chunking.releases-queue-and-memory", of=_ends)
def releases_queue_and_memory(timeline: Timeline, ended: tuple[Completion, Frame]) -> Says:
    """chunking.releases-queue-and-memory: a send fails because a queue is full only where pending messages and chunks
    may have taken its queue slots or the memory limit.

    A chunked message takes as many places as it has chunks. One of which nothing was sent may have taken any number,
    and so may a large message that is itself refused.
    """
    end, chunk = ended
    call, handle = timeline.call(end), end.handle or 0
    check_known(timeline, handle, end)
    if end.error is not ErrorClass.QUEUE_FULL:
        if end.outcome is Outcome.OK:
            yield Exercised(end)
        return
    if (call.size or 0) > chunk.size or not memory_surely_fits(timeline, handle, call, end):
        return
    places, limit = [_places(timeline, send) for send in held(timeline, handle, call)], places_of(timeline, handle)
    known = [count for count in places if count is not None]
    if len(known) == len(places) and (limit == 0 or sum(known) < limit):
        yield breach(
            "refused-with-room",
            f"producer {handle}: message {call.number} failed at {ms(end.t_ns)} because a queue is full, with "
            f"{sum(known)} messages and chunks pending; expected room for it, since max_pending_messages is "
            f"{limit or 'off'}; chunks were sent from {ms(chunk.t_ns)} on",
            *(chunk, call, end),
        )


def _places(timeline: Timeline, send: Send) -> int | None:
    """Return how many it takes; None where nothing of it was sent."""
    unit = timeline.unit_with(send)
    return None if unit is None or unit.first.meta is None else unit.first.meta.chunks or 1
