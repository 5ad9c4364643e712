"""delayed.not-before-deliver-at-time"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.dispatches import Group, Member
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.model.event import Frame, Position
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.delayed._due import WAITING_KINDS, DelayCheck, Due

OUT_OF_TURN_NS = 100 * MS
"""Entries that are due together leave in one read, in stored order: only entries further apart are compared."""


class NotBeforeDeliverAtTime(DelayCheck):
    """No entry is sent early. The order of due entries is judged where one consumer could take them all."""

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
                f"{group}: entry {due.name} has a delivery time of {ms(due.at_ns)}; expected it no earlier than "
                f"{ms(earliest_ns)}; it was sent to {member} at {ms(frame.t_ns)}",
                due.stored,
                frame,
            )
        elif due.stored.t_ns < earliest_ns:
            self.exercise(frame)
        if position not in group.unacked and position not in group.acked:
            self._judge_order(group, member, due, frame)

    def _judge_order(self, group: Group, member: Member, due: Due, frame: Frame) -> None:
        earlier = self._sent.setdefault(group, [])
        if any(other is due for other, _ in earlier):
            return  # It was redelivered, for example to a group whose consumers all left.
        for other, before in earlier:
            passed = other.at_ns > due.at_ns and frame.t_ns - before.t_ns > OUT_OF_TURN_NS
            if not passed or due.stored.t_ns >= before.t_ns:
                continue
            # A broker that got no CPU time finds them due together.
            if self.quiet_or_undecided(due.stored, frame, TOLERANCES["answer"]):
                self.breach(
                    "out-of-turn",
                    f"{group}: entry {due.name}, due at {ms(due.at_ns)}, was sent at {ms(frame.t_ns)}; expected it "
                    f"before {other.name}, due at {ms(other.at_ns)}, which was sent at {ms(before.t_ns)}",
                    before,
                    frame,
                )
                break
        if len(group.members) == 1 and member.permits > 1:
            earlier.append((due, frame))
