"""What a timeline says of handshakes, and of topics that migrate to another cluster."""

from __future__ import annotations

from functools import cached_property

from assay_conformance.pulsar.timeline.consuming import Consuming
from assay_conformance.pulsar.timeline.handshakes import Handshakes
from assay_conformance.pulsar.timeline.migrations import Migration, migrations


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
