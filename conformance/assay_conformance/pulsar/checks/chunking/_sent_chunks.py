"""The sending side of chunking: a message too large for one frame is sent in chunks."""

from __future__ import annotations

from assay_conformance.model.event import Frame, Invoke

Message = tuple[int, int]
"""Producer handle and message number."""


def properties_bytes(send: Invoke) -> int:
    """Return the least number of metadata bytes that the properties of a message take."""
    return sum(len(key) + len(value) for key, value in send.args.get("properties", {}).items())


def chunk_of(event: Frame) -> str:
    return f"SEND of sequence id {event.sequence_id} on connection {event.conn}"
