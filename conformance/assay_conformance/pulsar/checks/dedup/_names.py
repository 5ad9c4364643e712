"""What the ids of SENDs and entries say."""

from __future__ import annotations

from assay_conformance.model.event import Frame, Stored

Place = tuple[int, int | None, int | None]
"""Connection, producer and sequence id."""


def place_of(event: Frame) -> Place:
    return event.conn, event.producer_id, event.sequence_id


def checked_later(meta: object) -> bool:
    """Return whether it is a chunk before the last of its message: only the last is checked and remembered."""
    chunk_id, chunks = getattr(meta, "chunk_id", None), getattr(meta, "chunks", None)
    return chunk_id is not None and chunks is not None and chunk_id != chunks - 1


def effective_highest_id(event: Frame) -> int:
    """Return `highest_sequence_id`, or 0 where the SEND has none (the default on the wire is beyond every real id)."""
    highest = event.highest_sequence_id or 0
    return highest if highest < 1 << 62 else 0


def highest_id(event: Stored) -> int:
    return max(event.meta.sequence_id, event.meta.highest_sequence_id)
