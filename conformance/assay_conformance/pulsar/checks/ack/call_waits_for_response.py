"""ack.call-waits-for-response"""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import late
from assay_conformance.checks.resend import ended_ns
from assay_conformance.checks.tracker import Call
from assay_conformance.model.event import Completion, Event, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.ack._receipts import ReceiptCheck


class CallWaitsForResponse(ReceiptCheck):
    """A call ends well with the broker's answer: not without one, and soon behind it."""

    requirement = RequirementId("ack.call-waits-for-response")

    def ended_well(self, calls: list[Call], event: Completion) -> None:
        if not all(self.is_answered(call) for call in calls):
            return
        for call in calls:
            asked = self.asked_for(call)
            if any(each.answer is not None or each.lost is not None for each in asked):
                continue
            self.breach(
                "ended-without-answer",
                f"consumer {call.consumer.handle} was told at {ms(call.invoke.t_ns)} to acknowledge {call.entry}, and "
                f"to wait for the broker; the call ended at {ms(event.t_ns)}, "
                + ("before any ACK that asks for an answer" if not asked else "before the answer had come"),
                call.invoke,
                *[each.frame for each in asked[-1:]],
                event,
            )
            return
        self.exercise(event)

    def ended_badly(self, calls: list[Call], event: Completion) -> None:
        """Given up, though the answer was there."""
        self._judge_end(calls, event, ended_ns(event))

    def finish(self) -> None:
        for operation in self.tracker.operations.values():
            if operation.invoke.verb == "ack" and operation.completion is None and operation.overdue is not None:
                overdue = operation.overdue
                self._judge_end(self.tracker.calls.get(operation.invoke.op, ()), overdue, overdue.t_ns)
        super().finish()

    def _judge_end(self, calls: Sequence[Call], end: Event, end_ns: int) -> None:
        """`end`: of a call that did not end well by then. It waits for all that it names, be it of several topics."""
        answers = [self._good_answer(call) for call in calls]
        if not calls or not all(answers) or len(calls) != len(calls[0].invoke.args.get("messages", ())):
            return
        last = max((answer for answer in answers if answer is not None), key=lambda answer: answer.seq)
        closing = calls[0].consumer.closing
        if closing is not None and closing.seq < end.seq:
            return
        if late("answer", last.t_ns, end_ns):
            self.overdue(
                "answer",
                last.t_ns,
                end_ns,
                "not-ended",
                f"consumer {calls[0].consumer.handle} got the broker's answer to an acknowledgment at "
                f"{ms(last.t_ns)}; the call that waits for it had not ended well at {ms(end_ns)}",
                calls[0].invoke,
                last,
                end,
            )

    def _good_answer(self, call: Call) -> Frame | None:
        """To the last ACK that left since the call. Of several that cover its entry nobody knows which is its own: all
        of them have to be answered, but those that went with their connection."""
        since = [each for each in self.asked_for(call) if each.frame.seq > call.invoke.seq and each.lost is None]
        good = all(each.answer is not None and not each.refused for each in since)
        return since[-1].answer if since and good else None
