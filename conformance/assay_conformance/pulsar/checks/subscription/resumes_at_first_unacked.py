"""subscription.resumes-at-first-unacked"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.dispatches import SETTLED_NS, DispatchLedger, Group, Member, name_of
from assay_conformance.checks.loading import BrokerEnds
from assay_conformance.model.event import Frame, Position
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.subscription._hand_over import HandOver


class ResumesAtFirstUnacked(DispatchLedger):
    """Judged for Exclusive subscriptions, which are delivered in order. A broker that crashed may have lost the
    acknowledgments of its last second."""

    requirement = RequirementId("subscription.resumes-at-first-unacked")
    skips_plain = True

    def start(self) -> None:
        super().start()
        self._resumed: dict[Member, HandOver] = {}
        self._may_forget = BrokerEnds(self.view.case).possible

    def joined(self, group: Group, member: Member) -> None:
        if group.kind == "Exclusive" and group.durable and (group.acked or group.unacked):
            self._resumed[member] = HandOver(group)

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        due = self._resumed.get(member)
        if due is None:
            return
        if not member.served:
            self.exercise(frame)
        missed = due.passed_over(position)
        if missed is not None:
            self._report(
                "passed-over", f"before {name_of(missed)}, which is unacknowledged", group, member, missed, frame
            )
        elif not member.served and position in group.acked and not self._may_forget:
            if self._crossed(group, position) or self._overtaken(group, member, position, frame):
                return
            self._report("acked-again", "which is acknowledged", group, member, position, frame)

    def _crossed(self, group: Group, position: Position) -> bool:
        """Whether the acknowledgment may have reached a broker that was closing the consumer."""
        ends = [member.left for member in group.members]
        closes = [end.t_ns for end in ends if isinstance(end, Frame) and end.dir is Direction.TO_CLIENT]
        return any(0 <= close_ns - group.acked_ns[position] < SETTLED_NS for close_ns in closes)

    def _overtaken(self, group: Group, member: Member, position: Position, frame: Frame) -> bool:
        """Whether the consumer acknowledged the entry while its first permits were served: it had received the entry
        before, and ACK and FLOW may have arrived together, FLOW first."""
        acked_ns = group.acked_ns[position]
        return member.joined.t_ns <= acked_ns and frame.t_ns - acked_ns < SETTLED_NS

    def _report(self, code: str, what: str, group: Group, member: Member, other: Position, frame: Frame) -> None:
        place = frame.ids[0].position
        earlier = group.unacked.get(other) or group.acked[other]
        text = (
            f"{group}: {member} was admitted at {ms(member.joined.t_ns)}; expected the first unacknowledged entry "
            f"first; it was sent entry {name_of(place)}, {what}"
        )
        self.breach(code, text, earlier, member.joined, frame)
