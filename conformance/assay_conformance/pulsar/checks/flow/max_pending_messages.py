"""flow.max-pending-messages"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.flow._in_flight import InFlight


class MaxPendingMessages(InFlight):
    """Messages without a receipt, batch members one by one, against max_pending_messages of each partition."""

    requirement = RequirementId("flow.max-pending-messages")
    skips_plain = True

    def more(self, handle: int, event: Frame) -> None:
        limit = int(self.view.producer_setting(handle, "max_pending_messages") or 0)
        line = self.tracker.lines.unit.line if self.tracker.lines.unit is not None else None
        if not limit or line is None or self.tracker.lines.forged_receipts:
            return
        if handle in self.tracker.lines.unpaired:
            return
        count = self.messages[handle, line.topic]
        if count > limit:
            self.breach(
                "too-many-pending",
                f"producer {handle}: {count} messages on {line.topic} were without a receipt at {ms(event.t_ns)}, "
                f"max_pending_messages is {limit}",
                next(self.in_flight(handle)).invoke,
                event,
            )
        elif count == limit:
            self.exercise(event)
