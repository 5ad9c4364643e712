"""subscription.failover-redelivers-unacked"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.dispatches import DispatchLedger, Group, Member, name_of
from assay_conformance.model.event import Frame, Position
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.subscription._hand_over import HandOver


class FailoverRedeliversUnacked(DispatchLedger):
    """Judged by what the broker announces: ACTIVE_CONSUMER_CHANGE names the active consumer."""

    requirement = RequirementId("subscription.failover-redelivers-unacked")
    needs = ((Frame, "ACTIVE_CONSUMER_CHANGE"),)

    def start(self) -> None:
        super().start()
        self._active: dict[Group, Member] = {}
        self._due: dict[Group, HandOver] = {}
        self._served: dict[Group, Member] = {}

    @on(Frame, "ACTIVE_CONSUMER_CHANGE")
    def changed(self, event: Frame) -> None:
        group, member = self.member(event)
        if group is not None and member is not None and event.at_broker and event.fields.get("is_active"):
            self._active[group] = member
            self._due[group] = HandOver(group)

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        active = self._active.get(group)
        if group.kind != "Failover" or active is None:
            return
        if member is not active:
            if active.lives:
                self._two_active(group, member, active, frame)
            return
        due = self._due[group]
        if due.is_due and self._served.get(group, member) is not member:
            self.exercise(frame)
        self._served[group] = member
        missed = due.passed_over(position)
        if missed is not None:
            self.breach(
                "passed-over",
                f"{group}: {member} became active and was sent entry {name_of(position)} at {ms(frame.t_ns)}; expected "
                f"{name_of(missed)} before it, which is unacknowledged",
                group.unacked[missed],
                frame,
            )

    def _two_active(self, group: Group, member: Member, active: Member, frame: Frame) -> None:
        self.breach(
            "two-active",
            f"{group}: {member} was sent an entry at {ms(frame.t_ns)}; expected entries for {active} only, which "
            "ACTIVE_CONSUMER_CHANGE had named",
            active.joined,
            frame,
        )
