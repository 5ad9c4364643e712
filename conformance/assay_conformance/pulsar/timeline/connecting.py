"""The timeline's relations about handshakes, registrations, and topics that migrate to another cluster."""

from __future__ import annotations

from functools import cached_property

from assay_conformance.model.event import Fate, Frame, Identity, Stored
from assay_conformance.pulsar.timeline.calling import Calling
from assay_conformance.pulsar.timeline.consumers import Entry
from assay_conformance.pulsar.timeline.handshakes import Handshakes
from assay_conformance.pulsar.timeline.migrations import Migration, migrations


class Connecting(Calling):
    """The part of a timeline that is about connections before they carry messages."""

    @cached_property
    def handshakes(self) -> Handshakes:
        """Of all connections."""
        return Handshakes(self.events)

    def announced_limit(self, frame: Frame) -> int | None:
        """Return how large a message may be, as the CONNECTED of a frame's connection said."""
        handshake = self.handshakes.of(frame)
        return None if handshake is None else handshake.max_message_bytes

    @cached_property
    def migrations(self) -> list[Migration]:
        """Every TOPIC_MIGRATED, in order."""
        return migrations(self.events, self._tracker.producer_sessions, self._tracker.consumer_sessions)

    @property
    def lasted_ns(self) -> int:
        """From the first event to the last."""
        history = self._tracker.history
        return history[-1].t_ns - history[0].t_ns if history else 0

    @cached_property
    def moved(self) -> list[Frame]:
        """Frames that a fault held: as they arrived, and as they were released."""
        return [frame for frame in self.events.frames() if frame.fate in (Fate.HELD, Fate.RELEASED)]

    @cached_property
    def dropped(self) -> list[Frame]:
        """Frames that a fault dropped."""
        return [frame for frame in self.events.frames() if frame.fate is Fate.DROPPED]

    def written(self, frame: Frame) -> Frame:
        """Return the frame as its sender wrote it; of one that a fault held and released, the held one."""
        if frame.fate is not Fate.RELEASED:
            return frame
        return self._held.get((frame.conn, frame.frame), frame)

    @cached_property
    def _held(self) -> dict[tuple[int, int], Frame]:
        """By connection and number; of one that was held twice the first time."""
        return {(one.conn, one.frame): one for one in reversed(self.moved) if one.fate is Fate.HELD}

    def stored_at(self, entry: Entry) -> Stored | None:
        """Return what is stored at an entry's position."""
        return self._tracker.stored_at.get(entry)

    def own(self, identity: Identity | None) -> Identity | None:
        """Return the identity, where it is of a message of this Case's producers."""
        return self._tracker.own(identity)
