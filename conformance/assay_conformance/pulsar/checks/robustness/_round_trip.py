"""Unusual messages: what the protocol allows at its limits is received as it was sent."""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.tracker import Entry
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import FORGED, Fate, Frame, Member, Received, Stored

_PASSED, _TO_CLIENT = Fate.PASSED, Direction.TO_CLIENT


def is_altered(event: Frame) -> bool:
    return event.intact is False or (event.fate is not _PASSED and event.fate in FORGED)


def stored_member(stored: Stored | None, event: Received) -> Member | None:
    index = max(event.message_id.batch_index, 0)
    if stored is None or stored.meta.chunk_id is not None:
        return None
    return stored.members[index] if index < len(stored.members) else None


def describe_change(event: Received, entry: Entry, came: str, sent: str) -> str:
    return f"consumer {event.handle} received {entry} at {ms(event.t_ns)} with {came}; expected {sent}"


def as_events(stored: Stored | None) -> list[Stored]:
    return [] if stored is None else [stored]
