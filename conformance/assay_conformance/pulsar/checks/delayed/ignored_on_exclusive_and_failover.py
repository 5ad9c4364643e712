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
    """Judged where an Exclusive consumer has had permits ever since the entry came: a Failover one may have to wait
    until it is the active one; a broker that a publish rate stops from reading has not read of the permits; and a rate
    of dispatch keeps entries back, whenever they are due."""

    requirement = RequirementId("delayed.ignored-on-exclusive-and-failover")

    def start(self) -> None:
        super().start()
        self._fed: dict[Member, Frame] = {}
        """Since which FLOW a consumer has had permits left."""
        self._stored_late: Due | None = None
        self._read_at_once = self.view.is_read_at_once()

    @on(Frame, "FLOW")
    def granted(self, event: Frame) -> None:
        member = self.member(event)[1]
        # Behind a batch of more messages than it had permits for, it has less than none.
        if member is not None and event.at_broker and member.permits > 0:
            self._fed.setdefault(member, event)

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        due, fed = self.due.get((group.topic, position)), self._fed.get(member)
        if member.permits <= charged(frame):
            self._fed.pop(member, None)
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
            or fed is None
            or fed.t_ns > due.stored.t_ns
            or member.permits <= 0
        ):
            return
        waited = frame.t_ns - due.stored.t_ns > tolerance.slack_ns and position not in group.unacked
        if waited and self.quiet_or_undecided(due.stored, frame, tolerance):
            self.breach(
                "waited",
                f"{group}: entry {due.name} was stored at {ms(due.stored.t_ns)} and sent to {member} at "
                f"{ms(frame.t_ns)}, after its time of {ms(due.at_ns)}; here it should have been sent at once",
                due.stored,
                frame,
            )

    def finish(self) -> None:
        if self._stored_late is not None and not self.exercised:
            self.undecided(f"entry {self._stored_late.name} was stored so late that its time had come by then")
