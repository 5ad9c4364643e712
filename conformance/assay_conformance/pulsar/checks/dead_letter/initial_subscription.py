"""dead-letter.initial-subscription"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import from_client, in_force
from assay_conformance.checks.occasions import Setting
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dead_letter._sending import Kind, LetterCheck


class InitialSubscription(LetterCheck):
    """Only where one is configured."""

    requirement = RequirementId("dead-letter.initial-subscription")
    needs = (Setting("consumer", "max_redeliver_count"),)

    @on(Frame, "PRODUCER")
    def registered(self, event: Frame) -> None:
        address = self.addresses.get(str(event.fields.get("topic", "")))
        session = self.tracker.producer_of(event)
        applications = session is not None and session.line is not None and session.line.handle is not None
        if address is None or address.kind is not Kind.DEAD or applications or not from_client(event):
            return
        wanted = in_force(self.view, address.consumer, "dead_letter_subscription")
        if not wanted:
            return
        self.exercise(event)
        named = event.fields.get("initial_subscription_name")
        if named != wanted:
            self.breach(
                "not-asked-for",
                f"consumer {address.consumer.handle} is to have subscription {wanted!r} on its dead letter topic; the "
                f"PRODUCER for it at {ms(event.t_ns)} asks for {named or 'none'}",
                address.consumer.invoke,
                event,
            )
