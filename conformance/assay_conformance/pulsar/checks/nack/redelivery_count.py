"""How often an entry was asked for again: the count in MESSAGE."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms
from assay_conformance.checks.dispatches import DispatchLedger, Group, Member
from assay_conformance.checks.occasions import Subscribed
from assay_conformance.model.event import Frame, Position
from assay_conformance.model.requirement import RequirementId

_COUNTING = ("Shared", "Key_Shared")


@dataclass(slots=True)
class _Count:
    """Of one entry: the last MESSAGE with it, how often it was asked for since, and how many of the requests that its
    count tells of had not been answered by then."""

    frame: Frame
    asked: int = 0
    ahead: int = 0

    @property
    def told(self) -> int:
        return self.frame.redelivery_count or 0


class RedeliveryCount(DispatchLedger):
    """From 0 on, one more each time a consumer asked for it. The count is kept while somebody is there; brokers differ
    in whether a consumer that goes asks for what it had. Where one went unnoticed, in a black hole, nobody can say who
    is there.

    A broker reads the count when it writes the MESSAGE (Pulsar: PulsarCommandSenderImpl), so a request that comes
    between the dispatch and the writing is counted in both this MESSAGE and the one it brings about.
    """

    requirement = RequirementId("nack.redelivery-count")
    needs = (frozenset({Subscribed("Shared"), Subscribed("Key_Shared")}),)

    def start(self) -> None:
        super().start()
        self._counts: dict[Group, dict[Position, _Count]] = {}
        self._unsure: set[Group] = set()

    def joined(self, group: Group, member: Member) -> None:
        if not all(other.is_settled for other in group.members):
            self._unsure.add(group)
        if group.living() == [member]:
            self._counts.pop(group, None)

    def asked_again(self, group: Group, position: Position) -> None:
        if (count := self._counts.get(group, {}).get(position)) is not None:
            count.asked += 1

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        if group.kind not in _COUNTING or group in self._unsure:
            return
        log = self._counts.setdefault(group, {})
        before, told = log.get(position), frame.redelivery_count or 0
        log[position] = _Count(frame)
        if before is None:
            least = most = 0
        else:
            least, most = before.told + 1 - before.ahead, before.told + max(1, before.asked)
            log[position].ahead = max(0, told - least)
        # Of an entry that is acknowledged in part the ledger does not know whether it is still out at somebody.
        if any(position in holder.out for holder in group.members) or any(frame.ack_sets):
            least = min(least, -1 if before is None else before.told)
        elif before is not None:
            self.exercise(frame)
        if not least <= told <= most:
            self.breach(
                "miscounted",
                f"{group}: entry {position[0]}:{position[1]} was sent to {member} at {ms(frame.t_ns)} with "
                f"redelivery_count {told}, expected {most if least == most else f'{least} to {most}'}",
                *([] if before is None else [before.frame]),
                frame,
            )
