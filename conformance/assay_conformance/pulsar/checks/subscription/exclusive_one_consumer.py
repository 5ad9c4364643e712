"""subscription.exclusive-one-consumer"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.dispatches import DispatchLedger, Group, Member
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class ExclusiveOneConsumer(DispatchLedger):
    """A consumer whose end the broker may have seen does not count: half-open connections may be replaced."""

    requirement = RequirementId("subscription.exclusive-one-consumer")
    skips_plain = True

    def joined(self, group: Group, member: Member) -> None:
        for other in self._others(group, member.session):
            self.breach(
                "second-admitted",
                f"{group}: {member} was admitted at {ms(member.joined.t_ns)} while {other} was attached, since "
                f"{ms(other.joined.t_ns)}; expected the error ConsumerBusy",
                other.joined,
                member.joined,
            )

    def refused(self, group: Group, session: ConsumerSession, answer: Frame) -> None:
        if answer.fields.get("error") == "ConsumerBusy" and self._others(group, session):
            self.exercise(answer)

    def _others(self, group: Group, session: ConsumerSession) -> list[Member]:
        if group.kind != "Exclusive":
            return []
        ids = (session.conn, session.consumer_id)
        return [other for other in group.living() if (other.session.conn, other.session.consumer_id) != ids]
