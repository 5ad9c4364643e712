"""subscription.key-shared-same-consumer"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.dispatches import DispatchLedger, Group, Member, sticky_key
from assay_conformance.checks.occasions import Subscribed
from assay_conformance.model.event import Frame, Position
from assay_conformance.model.requirement import RequirementId


class KeySharedSameConsumer(DispatchLedger):
    """All entries of a key go to one consumer between two changes of the members. While a consumer is being admitted,
    keys may move already, and an entry may cross the close of its consumer. Entries without a key are not judged."""

    requirement = RequirementId("subscription.key-shared-same-consumer")
    needs = (Subscribed("Key_Shared"),)

    def start(self) -> None:
        super().start()
        self._owners: dict[Group, dict[str | bytes, tuple[Member, Frame]]] = {}
        self._membership: dict[Group, list[Member]] = {}

    def sent(self, group: Group, member: Member, frame: Frame, _position: Position) -> None:
        if group.kind != "Key_Shared" or frame.meta is None or not member.lives:
            return
        living = group.living()
        if living != self._membership.get(group) or group.asking or not all(m.is_settled for m in group.members):
            self._membership[group] = living
            self._owners[group] = {}
        key = sticky_key(frame.meta)
        if key is None:
            return
        owner, earlier = self._owners[group].setdefault(key, (member, frame))
        if owner is not member:
            self.breach(
                "key-at-two-consumers",
                f"{group}: key {key!r} went to {owner} at {ms(earlier.t_ns)} and to {member} at {ms(frame.t_ns)}; "
                "expected the same consumer, since no consumer was added or removed in between",
                earlier,
                frame,
            )
        elif earlier is not frame and len(living) > 1:
            self.exercise(frame)
