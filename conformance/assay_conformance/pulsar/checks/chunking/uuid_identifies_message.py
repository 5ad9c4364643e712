"""chunking.uuid-identifies-message"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._sent_chunks import chunk_of


class UuidIdentifiesMessage(Check):
    """The uuid of a chunk consists of its producer's name and its sequence id, so no two messages share it."""

    requirement = RequirementId("chunking.uuid-identifies-message")
    needs = (Trait.CHUNK,)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        meta = event.meta
        if meta is None or meta.chunk_id is None or not from_client(event):
            return
        expected = f"{meta.producer_name}-{meta.sequence_id}"
        if meta.uuid == expected:
            self.exercise(event)
        else:
            self.breach(
                "other-uuid",
                f"{chunk_of(event)} at {ms(event.t_ns)} has uuid {meta.uuid!r}; expected {expected!r}",
                event,
            )
