"""Readers that do more than read."""

from __future__ import annotations

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.handed import Handed, Inbound


class ReaderAcknowledges(Consumer):
    """A reader acknowledges what its application reads, cumulatively."""

    as_in = "Java client, ReaderImpl; Go client, reader_impl"
    within = ("ack.whole-batch-only", "seek.starts-at-target")

    def handed_over(self, inbound: Inbound) -> Handed:
        handed = super().handed_over(inbound)
        if self._reading is not None:
            self.ack(handed, cumulative=True)
            self._acks.issued()
        return handed
