"""retry-letter.original-acked-after-receipt"""

from __future__ import annotations

from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import sent_round
from assay_conformance.checks.occasions import Setting
from assay_conformance.model.event import Invoke
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dead_letter._acking_original import Settling


class RetryLetterOriginalAckedAfterReceipt(Settling):
    """Messages that the application had come again later."""

    requirement = RequirementId("retry-letter.original-acked-after-receipt")
    needs = (Setting("consumer", "retry_letters"),)

    @on(Invoke, "reconsume_later")
    def reconsumed(self, event: Invoke) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle or 0)
        for _, entry in sent_round(self.tracker, event):
            if consumer is not None:
                self.begin(consumer, entry, event, event.t_ns)
