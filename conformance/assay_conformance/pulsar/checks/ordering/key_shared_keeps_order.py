"""Key_Shared: the order of a key, also when consumers are added or leave."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from assay_conformance.checks.base import ms
from assay_conformance.checks.dispatches import DispatchLedger, Group, Member, sticky_key
from assay_conformance.checks.occasions import Subscribed
from assay_conformance.model.event import Frame, Position
from assay_conformance.model.requirement import RequirementId

Key = str | bytes


@dataclass(slots=True)
class _Dispatched:
    """One key of one subscription. `holder` was sent `sent` last, oldest first; `furthest` is the last entry that was
    sent for the first time, and `ever` are all that were sent. `left`: unacknowledged entries of a consumer that
    left."""

    holder: Member
    sent: deque[Position] = field(default_factory=deque)
    furthest: Frame | None = None
    left: deque[Position] = field(default_factory=deque)
    ever: set[Position] = field(default_factory=set)


class KeySharedKeepsOrder(DispatchLedger):
    """An entry is out while its consumer is attached, and has neither acknowledged it nor requested its redelivery.

    A redelivered entry may come after entries that were sent meanwhile; an entry of a consumer that left may not.
    Entries with a delivery time are not judged.
    """

    requirement = RequirementId("ordering.key-shared-keeps-order")
    needs = (Subscribed("Key_Shared"),)

    def start(self) -> None:
        super().start()
        self._keys: dict[Group, dict[Key, _Dispatched]] = {}

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        if group.kind != "Key_Shared" or frame.meta is None or frame.meta.deliver_at_ms is not None:
            return
        key = sticky_key(frame.meta)
        if key is None:
            return
        known = self._keys.setdefault(group, {}).setdefault(key, _Dispatched(member))
        if known.holder is not member:
            self._holder_changes(group, key, known, member, frame)
        self._in_order(group, key, known, frame, position)
        known.sent.append(position)

    def _holder_changes(self, group: Group, key: Key, known: _Dispatched, member: Member, frame: Frame) -> None:
        """Another consumer is sent an entry of the key: the one before may have none of the key out."""
        before, known.holder = known.holder, member
        sent, known.sent = known.sent, deque()
        if not before.lives:
            known.left = deque(sorted({*known.left, *(entry for entry in sent if entry in group.unacked)}))
            self.exercise(frame)
            return
        out = next((before.out[entry] for entry in sent if entry in before.out), None)
        if out is None:
            self.exercise(frame)
            return
        self.breach(
            "key-at-two-consumers",
            f"{group}: entry {frame.ids[0].name} of key {key!r} went to {member} at {ms(frame.t_ns)}; expected it to "
            f"wait, since entry {out.ids[0].name} of that key, sent at {ms(out.t_ns)}, was unacknowledged at {before}",
            out,
            frame,
        )

    def _in_order(self, group: Group, key: Key, known: _Dispatched, frame: Frame, position: Position) -> None:
        while known.left and (known.left[0] not in group.unacked or known.left[0] == position):
            known.left.popleft()
        furthest = known.furthest
        if known.left and known.left[0] < position:
            earlier = group.unacked[known.left.popleft()]
            self._overtakes(group, key, earlier, frame, "which a consumer that left had not acknowledged")
        elif furthest is not None and position < furthest.ids[0].position and position not in known.ever:
            self._overtakes(group, key, frame, furthest, "which had not been sent to any consumer")
        if furthest is None or position > furthest.ids[0].position:
            known.furthest = frame
        known.ever.add(position)

    def _overtakes(self, group: Group, key: Key, earlier: Frame, later: Frame, why: str) -> None:
        self.breach(
            "key-out-of-order",
            f"{group}: of key {key!r} entry {later.ids[0].name} was sent at {ms(later.t_ns)}; expected entry "
            f"{earlier.ids[0].name} before it, {why}",
            earlier,
            later,
        )
