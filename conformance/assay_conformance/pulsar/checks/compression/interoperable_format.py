from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from assay_conformance.checks.consumption import to_client
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.compression._compressed import is_too_large, metadata_if_compressed
from assay_conformance.pulsar.timeline import (
    Exercised,
    IncomingMessage,
    Says,
    Timeline,
    Unit,
    Why,
    breach,
    check,
    each,
    incoming_messages,
    ms,
    not_delivered,
)
from assay_conformance.pulsar.timeline.incoming import other_content

UNREAD_FORMAT: Final = "another-format"
"""What is in such a body is known to its client alone."""


@check("compression.interoperable-format")
def interoperable_format(timeline: Timeline) -> Says:
    """compression.interoperable-format: what a producer compressed can be decompressed with its codec, and a consumer
    receives what any producer compressed.

    Wrong sizes, and other defects in the body of a batch, are judged by other requirements, and so is what a client
    does after bytes that are no frame.
    """
    yield from each(timeline.units, _judge_in_format)
    yield from each(incoming_messages(timeline, _compressed(timeline)), _judge_received, timeline)


def _judge_in_format(unit: Unit) -> Says:
    frame, meta = unit.first, metadata_if_compressed(unit.first)
    if meta is None or frame.intact is False:
        return
    if meta.is_unread:
        yield breach(
            UNREAD_FORMAT,
            f"{unit.line}: the message at {ms(frame.t_ns)} names the codec {meta.compression}; expected a body in "
            f"Pulsar's format for it, of {meta.uncompressed_size} bytes; it cannot be decompressed to any size",
            frame,
        )
    elif frame.members or meta.unpacked_bytes is not None:
        yield Exercised(frame)


def _compressed(timeline: Timeline) -> Iterator[Frame]:
    """Yield compressed messages; those in chunks are judged by the chunking checks."""
    for frame in timeline.events.frames("MESSAGE"):
        meta = metadata_if_compressed(frame)
        is_whole = to_client(frame) and frame.intact and frame.members and not is_too_large(timeline.view, frame)
        if meta is not None and meta.chunk_id is None and is_whole:
            yield frame


def _judge_received(timeline: Timeline, incoming: IncomingMessage) -> Says:
    got, member = incoming.taken, incoming.member
    codec = incoming.frame.meta.compression if incoming.frame.meta else "some codec"
    if got is not None and got.payload == member.payload:
        yield Exercised(got)
    elif got is not None:
        what = f"{incoming.entry}, compressed by {codec},"
        yield other_content("message-changed", got, member, what, incoming.frame)
    if incoming.missed and not timeline.connection(incoming.frame.conn).has_seen(incoming.missed[0], Why.NOT_A_FRAME):
        yield from not_delivered(timeline, incoming, f"compressed by {codec}")
