"""How dead letters are sent: each alone, and with a subscription that keeps them, where one was asked for."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import from_client, in_force
from assay_conformance.checks.letters.posting import Kind, Letter, LetterCheck
from assay_conformance.checks.occasions import Setting
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class BuriedAlone(LetterCheck):
    """A dead letter in a batch waits for company, and its original for the batch."""

    requirement = RequirementId("dead-letter.not-batched")
    needs = (Setting("consumer", "max_redeliver_count"),)

    def posted(self, letter: Letter) -> None:
        if letter.kind is not Kind.DEAD:
            return
        self.exercise(letter.frame)
        if letter.frame.meta is not None and letter.frame.meta.batch is not None:
            self.breach(
                "batched",
                f"{letter} left at {ms(letter.frame.t_ns)} in a batch of {letter.frame.meta.batch}; dead letters are "
                "sent without batching",
                letter.frame,
            )


class AsksForFirstSubscription(LetterCheck):
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
