"""Unusual messages: what the protocol allows at its limits is received as it was sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.direction import Direction
from assay_conformance.model.event import FORGED, Fate, Frame, Member, Received, Stored
from assay_conformance.pulsar.timeline import Breach, Entry, Timeline, breach, ms


class Taken(NamedTuple):
    """A message that the application got, and what is stored of it."""

    message: Received
    entry: Entry
    stored: Stored
    member: Member


def taken(timeline: Timeline) -> Iterator[Taken]:
    """Yield every message that is stored whole, and was not altered on its way to some client before."""
    altered = _altered(timeline)
    for message in timeline.events.of(Received):
        entry = timeline.entry_of(message)
        if entry is None or timeline.consumer(message.handle) is None or altered.get(entry, message.seq) < message.seq:
            continue
        stored, index = timeline.stored_at(entry), max(message.message_id.batch_index, 0)
        if stored is not None and stored.meta.chunk_id is None and index < len(stored.members):
            yield Taken(message, entry, stored, stored.members[index])


def _altered(timeline: Timeline) -> dict[Entry, int]:
    """Return the entries of which an altered copy came, and the number of the first."""
    found: dict[Entry, int] = {}
    for frame in timeline.events.frames("MESSAGE"):
        if frame.dir is Direction.TO_CLIENT and frame.to_receiver and is_altered(frame):
            session = timeline.consumer_sessions.of(frame)
            if session is not None:
                found.setdefault(Entry(session.topic, frame.ids[0].ledger, frame.ids[0].entry), frame.seq)
    return found


def is_altered(frame: Frame) -> bool:
    """Return whether it is not what its broker wrote."""
    return frame.intact is False or (frame.fate is not Fate.PASSED and frame.fate in FORGED)


def changed(one: Taken, came: str, sent: str) -> Breach:
    """Return the breach of a message that came as something else."""
    message = one.message
    sentence = f"consumer {message.handle} received {one.entry} at {ms(message.t_ns)} with {came}; expected {sent}"
    return breach("changed", sentence, one.stored, message)
