"""ack.cumulative-has-one-message-id"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class CumulativeHasOneMessageId(Check):
    """A broker takes a cumulative ACK of several ids for a mistake, and none of them for acknowledged."""

    requirement = RequirementId("ack.cumulative-has-one-message-id")
    needs = (Trait.CUMULATIVE,)

    @on(Frame, "ACK")
    def acked(self, event: Frame) -> None:
        if event.ack_type != "Cumulative" or not from_client(event):
            return
        if len(event.ids) == 1:
            self.exercise(event)
        else:
            self.breach(
                "several-ids",
                f"connection {event.conn}: the cumulative ACK of consumer {event.consumer_id} at {ms(event.t_ns)} "
                f"names {len(event.ids)} ids; expected one, the last that is acknowledged",
                event,
            )
