"""chunking.assembles-by-uuid"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._acked_chunks import IntactCheck
from assay_conformance.pulsar.checks.chunking._assembly import ChunkFate
from assay_conformance.pulsar.checks.chunking._chunked import Arrival


class AssemblesByUuid(IntactCheck):
    """Messages whose chunks are interleaved with those of others, where each chunk came once and in order."""

    requirement = RequirementId("chunking.assembles-by-uuid")

    def start(self) -> None:
        super().start()
        self._mixed: set[tuple[int, str]] = set()
        self._disturbed: set[tuple[int, str]] = set()

    def what(self) -> str:
        return "several messages with interleaved chunks"

    def arrived(self, arrival: Arrival) -> None:
        session = arrival.session.request.seq
        others = {(session, uuid) for uuid in self.assembly(arrival.session).held if uuid != arrival.meta.uuid}
        if others:
            self._mixed |= others | {arrival.key}
        if arrival.fate is ChunkFate.STARTED:
            self._disturbed.discard(arrival.key)
        elif arrival.fate is ChunkFate.COMPLETE:
            if arrival.key in self._mixed - self._disturbed:
                self.watched.setdefault((arrival.consumer.handle, arrival.entry), arrival)
        elif arrival.fate is not ChunkFate.APPENDED:
            self._disturbed.add(arrival.key)
