"""dead-letter.original-acked-after-receipt"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dead_letter._dead_lettering import Buried
from assay_conformance.pulsar.checks.dead_letter._sending import Address


class DeadLetterOriginalAckedAfterReceipt(Buried):
    requirement = RequirementId("dead-letter.original-acked-after-receipt")
    large = False

    def taken(self, address: Address, request: Frame, answer: Frame) -> None:
        """One that comes back may find itself still there; one that comes for the first time should not have chosen
        that name."""
        if request.fields.get("producer_name") and not request.fields.get("epoch"):
            self.breach(
                "name-taken",
                f"a producer of {address.kind}s for subscription {address.consumer.subscription} asked for the name "
                f"{request.fields['producer_name']!r} at {ms(request.t_ns)}, and another one has it: its letters wait "
                "until that one goes",
                request,
                answer,
            )
