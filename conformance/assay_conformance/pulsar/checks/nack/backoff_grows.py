"""nack.backoff-grows"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import elapsed, number_in_force
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.event import Event, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.nack._backoff import BackoffCheck, Growing


class BackoffGrows(BackoffCheck):
    """Each refusal waits for as long as its redelivery count says, and no longer than the maximum. What comes early may
    be the acknowledgment time-out's, where there is one."""

    requirement = RequirementId("nack.backoff-grows")

    def early(self, growing: Growing, event: Frame) -> None:
        if not number_in_force(self.view, growing.call.consumer, "ack_timeout_ms"):
            self.breach("too-early", self._said(growing, event), growing.call.invoke, event)

    def in_time(self, growing: Growing, event: Frame) -> None:
        if growing.call.message.redelivery_count:
            self.exercise(event)

    def overdue_at(self, growing: Growing, event: Event) -> None:
        if growing.behind is None:
            said = self._said(growing, event)
            self.suspect("nack-late", growing.asked_ns, event.t_ns, "too-late", said, growing.call.invoke, event)

    def _said(self, growing: Growing, event: Event) -> str:
        call, window = growing.call, growing.window
        did = "asked for it again" if isinstance(event, Frame) else "had not asked for it"
        return (
            f"consumer {call.consumer.handle} was told at {ms(call.invoke.t_ns)} that {call.entry}, redelivered "
            f"{call.message.redelivery_count} times so far, is refused, and {did} "
            f"{elapsed(event.t_ns, growing.asked_ns)} later; its backoff says {window.earliest_ns / MS:.0f} to "
            f"{window.latest_ns / MS:.0f} ms"
        )
