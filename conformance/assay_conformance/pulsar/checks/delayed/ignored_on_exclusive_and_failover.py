"""delayed.ignored-on-exclusive-and-failover"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.dispatches import Group, Member
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.model.event import Frame, Position
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.delayed._due import WAITING_KINDS, DelayCheck, Due
from assay_conformance.pulsar.timeline.permits import charged


class IgnoredOnExclusiveAndFailover(DelayCheck):
    """Judged where an Exclusive consumer has had permits ever since the entry was stored. A Failover consumer may have
    to wait until it is active; a broker that stops reading because of a publish rate has not read the permits; and a
    dispatch rate holds entries back, whenever they are due."""

    requirement = RequirementId("delayed.ignored-on-exclusive-and-failover")

    def start(self) -> None:
        super().start()
        self._permitted_since: dict[Member, Frame] = {}
        """Consumer -> the FLOW since which it has had permits left."""
        self._stored_late: Due | None = None
        self._read_at_once = self.view.is_read_at_once()

    @on(Frame, "FLOW")
    def granted(self, event: Frame) -> None:
        member = self.member(event)[1]
        # After a batch with more messages than it had permits for, its permits are negative.
        if member is not None and event.at_broker and member.permits > 0:
            self._permitted_since.setdefault(member, event)

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        due, permitted_since = self.due.get((group.topic, position)), self._permitted_since.get(member)
        if member.permits <= charged(frame):
            self._permitted_since.pop(member, None)
        if group.kind in WAITING_KINDS or due is None or frame.redelivery_count:
            return
        if frame.t_ns < self.earliest_ns(due):
            self.exercise(frame)
            return
        if due.stored.t_ns >= self.earliest_ns(due):
            self._stored_late = due
        tolerance = TOLERANCES["answer"]
        if (
            group.kind != "Exclusive"
            or not self._read_at_once
            or not self.view.is_dispatched_at_once(group.topic)
            or permitted_since is None
            or permitted_since.t_ns > due.stored.t_ns
            or member.permits <= 0
        ):
            return
        waited = frame.t_ns - due.stored.t_ns > tolerance.slack_ns and position not in group.unacked
        if waited and self.quiet_or_undecided(due.stored, frame, tolerance):
            self.breach(
                "waited",
                f"{group}: entry {due.name} was stored at {ms(due.stored.t_ns)} with a delivery time of "
                f"{ms(due.at_ns)}; expected it to be sent at once on this type of subscription; it was sent to "
                f"{member} at {ms(frame.t_ns)}",
                due.stored,
                frame,
            )

    def finish(self) -> None:
        if self._stored_late is not None and not self.exercised:
            self.undecided(f"entry {self._stored_late.name} was stored after its delivery time")
