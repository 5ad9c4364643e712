"""delayed.not-before-deliver-at-time"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.dispatches import Group, Member
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.model.event import Frame, Position
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.delayed._due import WAITING_KINDS, DelayCheck, Due

OUT_OF_TURN_NS = 100 * MS
"""What is due together leaves in one read, in the order it was stored: only what is further apart has an order."""


class NotBeforeDeliverAtTime(DelayCheck):
    """Too early is too early by any clock. The order of what is due is judged where one consumer could take it all."""

    requirement = RequirementId("delayed.not-before-deliver-at-time")

    def start(self) -> None:
        super().start()
        self._sent: dict[Group, list[tuple[Due, Frame]]] = {}

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        due = self.due.get((group.topic, position))
        if group.kind not in WAITING_KINDS or due is None:
            return
        earliest_ns = self.earliest_ns(due)
        if frame.t_ns < earliest_ns - TOLERANCES["nack-early"].slack_ns:
            self.breach(
                "early",
                f"{group}: entry {due.name} is due at {ms(due.at_ns)} and was sent to {member} at {ms(frame.t_ns)}, "
                f"where {ms(earliest_ns)} is the earliest",
                due.stored,
                frame,
            )
        elif due.stored.t_ns < earliest_ns:
            self.exercise(frame)
        if position not in group.unacked and position not in group.acked:
            self._in_turn(group, member, due, frame)

    def _in_turn(self, group: Group, member: Member, due: Due, frame: Frame) -> None:
        earlier = self._sent.setdefault(group, [])
        if any(other is due for other, _ in earlier):
            return  # It comes again, as to a group that a broker made anew.
        for other, before in earlier:
            passed = other.at_ns > due.at_ns and frame.t_ns - before.t_ns > OUT_OF_TURN_NS
            if not passed or due.stored.t_ns >= before.t_ns:
                continue
            # A broker that was kept from running finds them due together.
            if self.quiet_or_undecided(due.stored, frame, TOLERANCES["answer"]):
                self.breach(
                    "out-of-turn",
                    f"{group}: entry {due.name}, due at {ms(due.at_ns)}, was sent at {ms(frame.t_ns)}; {other.name}, "
                    f"due at {ms(other.at_ns)}, had been sent at {ms(before.t_ns)}",
                    before,
                    frame,
                )
                break
        if len(group.members) == 1 and member.permits > 1:
            earlier.append((due, frame))
