"""What a batch of several messages says of the sequence ids inside."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.timeline import Timeline, Unit


def numbered_batches(timeline: Timeline) -> Iterator[Unit]:
    """Yield batches of several messages, but for those by key: the ids of several such batches interleave."""
    for unit in timeline.batches:
        if len(unit.first.members) > 1 and not timeline.batches_by_key(unit.line.handle):
            yield unit


def ids_inside(unit: Unit) -> list[int]:
    """Return the sequence ids of its messages, of those that have one of their own."""
    return [member.sequence_id for member in unit.first.members if member.sequence_id is not None]
