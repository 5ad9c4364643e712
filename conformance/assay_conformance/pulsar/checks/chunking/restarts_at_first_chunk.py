"""chunking.restarts-at-first-chunk"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._acked_chunks import IntactCheck
from assay_conformance.pulsar.checks.chunking._assembly import ChunkFate
from assay_conformance.pulsar.checks.chunking._chunked import Arrival
from assay_conformance.pulsar.checks.chunking._given_up import GivenUp, GivingUp


class RestartsAtFirstChunk(GivingUp, IntactCheck):
    """A first chunk that comes under another id begins its message anew, and what was held is acknowledged; under the
    same id it was redelivered, and the rest will be."""

    requirement = RequirementId("chunking.restarts-at-first-chunk")
    left_code = "old-not-acked"
    acked_code = "redelivered-acked"

    def start(self) -> None:
        super().start()
        self._anew: set[tuple[int, str]] = set()

    def what(self) -> str:
        return "those that began anew"

    def arrived(self, arrival: Arrival) -> None:
        if arrival.fate is ChunkFate.RESTARTED and self.overflowed(arrival.session):
            self._anew.discard(arrival.key)  # It may have been dropped for another, and begin for the first time.
        elif arrival.fate is ChunkFate.RESTARTED:
            self._anew.add(arrival.key)
            redelivered = arrival.entry in arrival.before
            if not redelivered:
                self._forgive(arrival)
            # One that expired had nothing left, and what came of it since then it did not hold.
            if redelivered or not self.may_expire(arrival.consumer, arrival.meta, arrival.frame):
                self.give_up(arrival, arrival.before, to_ack=not redelivered)
        elif arrival.fate is ChunkFate.COMPLETE and arrival.key in self._anew:
            self._anew.discard(arrival.key)
            self.watched.setdefault((arrival.consumer.handle, arrival.entry), arrival)
            self._forgive(arrival)
        elif arrival.fate not in (ChunkFate.APPENDED, ChunkFate.COMPLETE):
            self._anew.discard(arrival.key)

    def _forgive(self, arrival: Arrival) -> None:
        """Redelivered chunks belong to the whole message now, or to what began anew, and are settled with it."""
        chunks = {*arrival.before, arrival.entry}
        for given_up in self.given_up:
            if not given_up.to_ack and chunks.intersection(given_up.entries):
                given_up.told = True

    def why(self, given_up: GivenUp) -> str:
        return f"its message began anew at {ms(given_up.because.t_ns)}"
