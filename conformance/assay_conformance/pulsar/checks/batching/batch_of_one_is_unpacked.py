"""Batches of one message: a batch all the same, as an entry that does not say how many it holds is none."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import to_client
from assay_conformance.checks.handover import HandoverCheck, Offer
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import FORGED, Frame, Received
from assay_conformance.model.requirement import RequirementId


class BatchOfOneIsUnpacked(HandoverCheck):
    """The message of a batch of one is handed over, without the header it has in the batch."""

    requirement = RequirementId("batching.batch-of-one-is-unpacked")
    needs = (Trait.BATCH,)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session, meta = self.tracker.consumer_of(event), event.meta
        whole = event.fate not in FORGED and event.intact is not False
        if session is None or meta is None or meta.batch != 1 or not to_client(event) or not whole:
            return
        if len(event.members) == 1:
            self.handover.offer(session, event)

    def handed(self, offer: Offer, event: Received) -> None:
        member = offer.frame.members[0]
        self.exercise(event)
        if event.payload != member.payload:
            self.breach(
                "changed",
                f"consumer {event.handle} handed {offer.entry}, a batch of one message, over at {ms(event.t_ns)} as "
                f"{event.size} bytes of digest {event.digest:08x}; the message in it has {member.size} bytes of digest "
                f"{member.digest:08x}",
                offer.frame,
                event,
            )

    def what(self, offer: Offer) -> str:
        del offer
        return "a batch of one message"
