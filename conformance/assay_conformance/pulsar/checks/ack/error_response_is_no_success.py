"""ack.error-response-is-no-success"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.tracker import Call
from assay_conformance.model.event import Completion
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.ack._receipts import ReceiptCheck


class ErrorResponseIsNoSuccess(ReceiptCheck):
    """Of the answers to a call's acknowledgments one has to be good before the call ends well."""

    requirement = RequirementId("ack.error-response-is-no-success")

    def ended_well(self, calls: list[Call], event: Completion) -> None:
        for call in calls:
            asked = self.asked_for(call)
            troubled = [each for each in asked if each.refused or each.lost is not None]
            if not troubled:
                continue
            if any(each.answer is not None and not each.refused for each in asked):
                self.exercise(event)
                continue
            if any(each.answer is None and each.lost is None for each in asked):
                continue  # Ended without an answer: the other requirement's.
            last = troubled[-1]
            what = last.answer or last.lost
            assert what is not None
            word = "refused it" if last.refused else "was lost with the connection's consumer before it answered"
            self.breach(
                "refusal-taken-for-success" if last.refused else "loss-taken-for-success",
                f"consumer {call.consumer.handle} asked for an answer when it acknowledged {call.entry} at "
                f"{ms(last.frame.t_ns)}; the broker {word} at {ms(what.t_ns)}, and the call ended well at "
                f"{ms(event.t_ns)}",
                last.frame,
                what,
                event,
            )

    def ended_badly(self, calls: list[Call], event: Completion) -> None:
        if any(each.refused or each.lost is not None for call in calls for each in self.asked_for(call)):
            self.exercise(event)
