"""What a timeline says of handshakes, of registrations, and of topics that migrate to another cluster."""

from __future__ import annotations

from functools import cached_property

from assay_conformance.pulsar.timeline.consuming import Consuming
from assay_conformance.pulsar.timeline.handshakes import Handshakes
from assay_conformance.pulsar.timeline.migrations import Migration, migrations
from assay_conformance.pulsar.timeline.registering import Registered, registered


class Connecting(Consuming):
    """The part of a timeline that is about connections before they carry messages."""

    @cached_property
    def handshakes(self) -> Handshakes:
        """Of all connections."""
        return Handshakes(self.events)

    @cached_property
    def migrations(self) -> list[Migration]:
        """Every TOPIC_MIGRATED, in order."""
        return migrations(self.events, self._tracker.producer_sessions, self._tracker.consumer_sessions)

    @cached_property
    def registered(self) -> list[Registered]:
        """Every PRODUCER and SUBSCRIBE, in order."""
        return registered(self._tracker.producer_sessions, self._tracker.consumer_sessions)

    @property
    def lasted_ns(self) -> int:
        """From the first event to the last."""
        history = self._tracker.history
        return history[-1].t_ns - history[0].t_ns if history else 0
