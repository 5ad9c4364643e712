"""chunking.restarts-at-first-chunk"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._acked_chunks import IntactCheck
from assay_conformance.pulsar.checks.chunking._assembly import ChunkFate
from assay_conformance.pulsar.checks.chunking._chunked import Arrival
from assay_conformance.pulsar.checks.chunking._given_up import GivenUp, GivingUp


class RestartsAtFirstChunk(GivingUp, IntactCheck):
    """A first chunk that comes again as another entry restarts its message, and the chunks held are acknowledged; as
    the same entry it is a redelivery, and the other chunks will be redelivered, too."""

    requirement = RequirementId("chunking.restarts-at-first-chunk")
    left_code = "old-not-acked"
    acked_code = "redelivered-acked"

    def start(self) -> None:
        super().start()
        self._restarted: set[tuple[int, str]] = set()

    def what(self) -> str:
        return "those that were restarted"

    def arrived(self, arrival: Arrival) -> None:
        if arrival.fate is ChunkFate.RESTARTED and self.overflowed(arrival.session):
            self._restarted.discard(arrival.key)  # It may have been dropped for another, and be new again.
        elif arrival.fate is ChunkFate.RESTARTED:
            self._restarted.add(arrival.key)
            redelivered = arrival.entry in arrival.before
            if not redelivered:
                self._stop_judging(arrival)
            # An expired message was dropped, and later chunks of it were not held.
            if redelivered or not self.may_expire(arrival.consumer, arrival.meta, arrival.frame):
                self.give_up(arrival, arrival.before, to_ack=not redelivered)
        elif arrival.fate is ChunkFate.COMPLETE and arrival.key in self._restarted:
            self._restarted.discard(arrival.key)
            self.watched.setdefault((arrival.consumer.handle, arrival.entry), arrival)
            self._stop_judging(arrival)
        elif arrival.fate not in (ChunkFate.APPENDED, ChunkFate.COMPLETE):
            self._restarted.discard(arrival.key)

    def _stop_judging(self, arrival: Arrival) -> None:
        """Redelivered chunks belong to the whole message now, or to the restarted one, and are acknowledged with it."""
        chunks = {*arrival.before, arrival.entry}
        for given_up in self.given_up:
            if not given_up.to_ack and chunks.intersection(given_up.entries):
                given_up.done = True

    def why(self, given_up: GivenUp) -> str:
        return f"its message was restarted at {ms(given_up.because.t_ns)}"
