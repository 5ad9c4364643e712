"""The sending side of chunking: a message too large for one frame is sent in chunks."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import Frame, Invoke, Stored
from assay_conformance.pulsar.timeline import Timeline

Message = tuple[int, int]
"""Producer handle and message number."""


def message_in(holder: Frame | Stored) -> Message | None:
    """Return the message that a frame or entry carries, or completes as its last chunk, where that is known."""
    identity = holder.members[0].identity if holder.members else None
    return None if identity is None else (identity.handle, identity.number)


def sent_chunks(timeline: Timeline) -> Iterator[Frame]:
    """Yield every SEND of a chunk that a client wrote."""
    for frame in timeline.events.frames("SEND"):
        if frame.is_chunk and from_client(frame):
            yield frame


def splits(timeline: Timeline, handle: int) -> bool:
    """Return whether the producer splits messages; chunking with batching is judged by another requirement."""
    setting = timeline.view.producer_setting
    return setting(handle, "chunking") is True and setting(handle, "batching") is not True


def properties_bytes(send: Invoke) -> int:
    """Return the least number of metadata bytes that the properties of a message take."""
    return sum(len(key) + len(value) for key, value in send.args.get("properties", {}).items())


def chunk_of(event: Frame) -> str:
    """Return what a sentence calls it."""
    return f"SEND of sequence id {event.sequence_id} on connection {event.conn}"
