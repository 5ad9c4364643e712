from __future__ import annotations

from assay_conformance.model.event import Frame, Received
from assay_conformance.pulsar.timeline import Exercised, IncomingMessage, Says, Timeline, breach, check, each, ms
from assay_conformance.pulsar.timeline.arrivals import Arrivals, Chunk, Place, whole_not_delivered
from assay_conformance.pulsar.timeline.assembly import ChunkFate
from assay_conformance.pulsar.timeline.incoming import other_content


@check("chunking.delivers-whole-only")
def delivers_whole_only(timeline: Timeline) -> Says:
    """chunking.delivers-whole-only: a message is received once its last chunk came in order after all others, and never
    before.

    That it is received at all, and is joined correctly, is judged where every chunk came once: repeated chunks are
    judged by another requirement.
    """
    arrivals, incomplete = timeline.once(Arrivals), dict[tuple[int, str], Frame]()
    disturbed, clean, places = set[tuple[int, str]](), dict[Place, int](), dict[Place, list[Chunk]]()
    for chunk in arrivals.all:
        places.setdefault(chunk.place, []).append(chunk)
        if chunk.fate is ChunkFate.COMPLETE:
            incomplete.pop(chunk.key, None)
            if chunk.key not in disturbed:
                clean.setdefault(chunk.place, chunk.frame.seq)
            continue
        incomplete[chunk.key] = chunk.frame
        if chunk.fate not in (ChunkFate.STARTED, ChunkFate.APPENDED):
            disturbed.add(chunk.key)
    yield from each(timeline.all_received if places else (), _judge_whole, timeline, places, clean)
    yield from each(arrivals.incoming, _judge_received, timeline, clean)
    yield from (Exercised(frame) for frame in incomplete.values())


def _judge_whole(timeline: Timeline, places: dict[Place, list[Chunk]], clean: dict[Place, int], got: Received) -> Says:
    entry = timeline.entry_of(got)
    place = None if entry is None else (got.handle, entry)
    came = [chunk for chunk in places.get(place, ()) if chunk.frame.seq < got.seq] if place is not None else []
    if place is None or not came:
        return
    chunk = next((one for one in came if one.fate is ChunkFate.COMPLETE), came[-1])
    frame, meta = chunk.frame, chunk.meta
    if chunk.fate is ChunkFate.UNSURE and _may_be_whole(chunk, got):
        return
    if chunk.fate is not ChunkFate.COMPLETE:
        yield breach(
            "fragment-delivered",
            f"consumer {got.handle} delivered {entry} at {ms(got.t_ns)}, which is one chunk (id {meta.chunk_id}) of "
            f"{meta.chunks}; expected no message before all its chunks had arrived in order",
            *(frame, got),
        )
    elif clean.get(place, got.seq) >= got.seq:
        return
    elif frame.members and got.payload != frame.members[0].payload:
        yield other_content("wrong-content", got, frame.members[0], f"the chunks up to {entry}", frame)
    else:
        yield Exercised(got)


def _may_be_whole(chunk: Chunk, got: Received) -> bool:
    """Return whether the message may be whole with this chunk.

    The others came before the consumer requested redelivery of everything, or over the connection before.
    """
    is_last = (chunk.meta.chunk_id or 0) + 1 == chunk.meta.chunks
    return is_last and (not chunk.frame.members or got.payload == chunk.frame.members[0].payload)


def _judge_received(timeline: Timeline, clean: dict[Place, int], incoming: IncomingMessage) -> Says:
    if (incoming.consumer.handle, incoming.entry) in clean:
        yield from whole_not_delivered(timeline, incoming)
