"""Batches by key: what may share an entry, which ids entries go by, and in which order they leave.

Ids of batches that were open side by side interleave: {A: 0, 3, 4} and {B: 1, 2}. A client that names ranges has one of
the two dropped as a duplicate, whichever leaves last; one that names lowest ids has the broker believe that 1 was the
last. Each by its highest, sorted by that, is what works (Java client, BatchMessageKeyBasedContainer).
"""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import Send, Timeline, Unit


def keyed_entries(timeline: Timeline) -> Iterator[Unit]:
    """Yield entries of producers that batch by key, in the order in which each of them first sent them."""
    setting = timeline.view.producer_setting
    for producer in (one for one in timeline.producers if one.handle is not None):
        handle = producer.handle or 0
        if setting(handle, "batching_type") == "key_based" and setting(handle, "batching") is True:
            yield from (unit for unit in producer.units if unit.first.meta is not None and unit.numbers)


def keys_inside(timeline: Timeline, unit: Unit) -> list[bytes]:
    """Return the key by which Key_Shared selects, for each of its messages."""
    return [_sticky(send) for send in timeline.sends(unit)]


def _sticky(send: Send) -> bytes:
    ordering_key, key = send.invoke.args.get("ordering_key"), send.invoke.args.get("key")
    return str((key or "") if ordering_key is None else ordering_key).encode()


def highest_id(frame: Frame) -> int:
    """Return the id that an entry goes by."""
    return max(frame.sequence_id or 0, frame.highest_sequence_id or 0)


def quoted(key: bytes) -> str:
    """Return a key for a sentence."""
    return f"key {key.decode(errors='replace')!r}" if key else "no key"
