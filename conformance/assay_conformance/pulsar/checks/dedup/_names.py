"""What has arrived and what is stored under one producer name."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.model.event import Frame, Stored
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID

Place = tuple[int, int | None, int | None]
"""Connection, producer and sequence id."""


@dataclass(slots=True)
class Name:
    """What has arrived under one producer name on one topic."""

    arrived: int = NO_SEQUENCE_ID
    stored: int = NO_SEQUENCE_ID
    waiting: dict[Place, Frame] = field(default_factory=dict)
    """SENDs that are neither stored nor refused yet, in order of arrival."""
    loads: int = 0
    """The load of its topic in which `stored` was written."""
    stored_ns: int = 0


def place_of(event: Frame) -> Place:
    return event.conn, event.producer_id, event.sequence_id


def checked_later(meta: object) -> bool:
    """Whether it is a chunk before the last of its message: only the last is checked and remembered."""
    chunk_id, chunks = getattr(meta, "chunk_id", None), getattr(meta, "chunks", None)
    return chunk_id is not None and chunks is not None and chunk_id != chunks - 1


def effective_highest_id(event: Frame) -> int:
    """Return `highest_sequence_id`, or 0 where the SEND has none (the default on the wire is beyond every real id)."""
    highest = event.highest_sequence_id or 0
    return highest if highest < 1 << 62 else 0


def highest_id(event: Stored) -> int:
    return max(event.meta.sequence_id, event.meta.highest_sequence_id)
