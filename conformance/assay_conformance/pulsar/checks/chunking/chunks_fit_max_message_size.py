from __future__ import annotations

from assay_conformance.model.event import Completion, ErrorClass, Frame
from assay_conformance.pulsar.checks.chunking._sent_chunks import chunk_of, properties_bytes, sent_chunks
from assay_conformance.pulsar.checks.chunking._size_limits import HighestLimit, ended_unmeasured
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, each, ms

CHUNK_FIELDS_BYTES = 128
"""What a chunk's frame has besides payload and metadata: sizes, magic, checksum, its command, and its chunk fields
without the uuid."""


@check("chunking.chunks-fit-max-message-size")
def chunks_fit_max_message_size(timeline: Timeline) -> Says:
    """chunking.chunks-fit-max-message-size: payload and metadata of a chunk, without the chunk fields, stay within the
    limit.

    A unit that waits for a reconnect keeps its chunks, so the highest limit announced so far counts. That metadata
    leave no room is known from the properties only.
    """
    limit = HighestLimit(timeline)
    yield from each(sent_chunks(timeline), _fits, limit)
    yield from each(timeline.events.completions("send"), _judge_room, timeline, limit)


def _fits(limit: HighestLimit, chunk: Frame) -> Says:
    allowed, uuid = limit.before(chunk), "" if chunk.meta is None else chunk.meta.uuid or ""
    most = allowed + CHUNK_FIELDS_BYTES + len(uuid.encode())
    if chunk.size <= most:
        yield Exercised(chunk)
        return
    yield breach(
        "too-large",
        f"{chunk_of(chunk)} at {ms(chunk.t_ns)} is a frame of {chunk.size} bytes; expected at most {most}, since "
        f"payload and metadata may take {allowed}",
        chunk,
    )


def _judge_room(timeline: Timeline, limit: HighestLimit, end: Completion) -> Says:
    call, handle, allowed = timeline.call(end), end.handle or 0, limit.before(end)
    properties = properties_bytes(call)
    splits = timeline.view.producer_setting(handle, "chunking") is True
    if not splits or not 0 < allowed < properties or ended_unmeasured(timeline, end):
        return
    if end.error is ErrorClass.TOO_LARGE:
        yield Exercised(end)
    elif timeline.view.producer_setting(handle, "router") is None:
        # A custom router may fail it first.
        yield breach(
            "no-room-left",
            f"producer {end.handle}: message {call.number} has {properties} bytes of properties, and the limit is "
            f"{allowed} bytes; expected an error of class too_large; it ended at {ms(end.t_ns)} as "
            f"{end.error or end.outcome}",
            *(call, end),
        )
