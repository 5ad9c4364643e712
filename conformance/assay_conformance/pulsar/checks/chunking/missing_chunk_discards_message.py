"""chunking.missing-chunk-discards-message"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._assembly import ChunkFate
from assay_conformance.pulsar.checks.chunking._chunked import Arrival
from assay_conformance.pulsar.checks.chunking._given_up import GivenUp, GivingUp


class MissingChunkDiscardsMessage(GivingUp):
    """A chunk after a gap ends its message, and is left for redelivery together with the chunks before the gap."""

    requirement = RequirementId("chunking.missing-chunk-discards-message")
    acked_code = "gap-acked"

    def arrived(self, arrival: Arrival) -> None:
        if arrival.fate is ChunkFate.GAP:
            if not self.may_expire(arrival.consumer, arrival.meta, arrival.frame):
                self.give_up(arrival, (*arrival.before, arrival.entry), to_ack=False)
        else:
            # Chunks that come again may be assembled after all, and acknowledged with their message.
            for given_up in self.given_up:
                if arrival.entry in given_up.entries:
                    given_up.done = True

    def why(self, given_up: GivenUp) -> str:
        return f"a chunk of its message was missing at {ms(given_up.because.t_ns)}"
