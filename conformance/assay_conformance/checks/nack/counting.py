"""How often an entry was asked for again: the count in MESSAGE."""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.dispatches import DispatchLedger, Group, Member, Position
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId

_COUNTING = ("Shared", "Key_Shared")


class RedeliveriesCounted(DispatchLedger):
    """From 0 on, one more each time a consumer asked for it. The count is kept while somebody is there; brokers differ
    in whether a consumer that goes asks for what it had. Where one went unnoticed, in a black hole, nobody can say who
    is there."""

    requirement = RequirementId("nack.redeliveries-counted")

    def start(self) -> None:
        super().start()
        self._sent: dict[Group, dict[Position, Frame]] = {}
        self._unsure: set[Group] = set()

    def joined(self, group: Group, member: Member) -> None:
        if not all(other.is_settled for other in group.members):
            self._unsure.add(group)
        if group.living() == [member]:
            self._sent.pop(group, None)

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        if group.kind not in _COUNTING or group in self._unsure:
            return
        log = self._sent.setdefault(group, {})
        before = log.get(position)
        log[position] = frame
        last = -1 if before is None else before.redelivery_count or 0
        counts = {last + 1}
        # Of an entry that is acknowledged in part the ledger does not know whether it is still out at somebody.
        if any(position in holder.out for holder in group.members) or any(frame.ack_sets):
            counts.add(last)
        elif before is not None:
            self.exercise(frame)
        if (frame.redelivery_count or 0) not in counts:
            self.breach(
                "miscounted",
                f"{group}: entry {position[0]}:{position[1]} was sent to {member} at {ms(frame.t_ns)} with "
                f"redelivery_count {frame.redelivery_count or 0}, expected {max(counts)}",
                *(event for event in (before, frame) if event is not None),
            )
