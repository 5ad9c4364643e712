"""deliver_at_time in SEND: a delay counts from the send call, a time is copied."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.resend import operations
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class SetsDeliverAtTime(Check):
    """Judged for messages sent alone in their entry. A delay counts from some moment between call and SEND."""

    requirement = RequirementId("delayed.sets-deliver-at-time")
    needs = (Trait.FOR_LATER,)

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        unit, began = self.tracker.lines.first(event), self.tracker.began
        if unit is None or began is None or event.meta is None or event.meta.batch is not None:
            return
        for send in operations(self, unit):
            if not send.invoke.args:
                continue
            at_ms, after_ms = send.invoke.args.get("deliver_at_ms"), send.invoke.args.get("deliver_after_ms")
            sent_ms = event.meta.deliver_at_ms
            if at_ms is not None:
                self._judge(send, event, sent_ms, int(at_ms), int(at_ms))
            elif after_ms is not None:
                slack_ns = TOLERANCES["wall-clock"].slack_ns
                earliest_ns, latest_ns = send.invoke.t_ns - slack_ns, event.t_ns + slack_ns
                base_ms = began.unix_ms + int(after_ms)
                self._judge(send, event, sent_ms, base_ms + earliest_ns // MS, base_ms + -(-latest_ns // MS))

    def _judge(self, send: Operation, event: Frame, sent_ms: int | None, earliest_ms: int, latest_ms: int) -> None:
        self.exercise(event)
        if sent_ms is not None and earliest_ms <= sent_ms <= latest_ms:
            return
        expected = f"{earliest_ms}" if earliest_ms == latest_ms else f"from {earliest_ms} to {latest_ms}"
        self.breach(
            "no-time" if sent_ms is None else "other-time",
            f"message {send.invoke.number} of producer {send.invoke.handle} was sent at {ms(event.t_ns)} with "
            f"deliver_at_time {sent_ms or 'not set'}; expected {expected} (Unix milliseconds)",
            send.invoke,
            event,
        )
