"""nack.short-delay-not-behind-long"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.event import Event, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.nack._backoff import BackoffCheck, Growing


class ShortDelayNotBehindLong(BackoffCheck):
    """One that is due sooner than what was refused before it does not wait for that."""

    requirement = RequirementId("nack.short-delay-not-behind-long")

    def in_time(self, growing: Growing, event: Frame) -> None:
        if growing.behind is not None:
            self.exercise(event)

    def overdue_at(self, growing: Growing, event: Event) -> None:
        if growing.behind is None:
            return
        longer, call = growing.behind.call, growing.call
        self.suspect(
            "nack-late",
            growing.asked_ns,
            event.t_ns,
            "waits-for-longer",
            f"consumer {call.consumer.handle} was told at {ms(longer.invoke.t_ns)} that {longer.entry} is refused, and "
            f"at {ms(call.invoke.t_ns)} that {call.entry} is, which is due sooner: within "
            f"{growing.window.latest_ns / MS:.0f} ms; it had not been asked for by {ms(event.t_ns)}",
            longer.invoke,
            call.invoke,
            event,
        )
