"""subscription.shared-entry-at-one-consumer"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.dispatches import DispatchLedger, Group, Member, name_of
from assay_conformance.checks.occasions import Subscribed
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.event import Fate, Frame, Position
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic

HANDED_OVER_NS = 200 * MS
"""How long a consumer with permits must have been there for what another left behind to have reached it."""


class SharedEntryAtOneConsumer(DispatchLedger):
    """At one consumer at a time; and what one leaves behind goes to the others, as far as they have permits.

    Where rates, delays or limits of unacknowledged messages may hold an entry back, only the first is judged. Chunks of
    a message wait for permits of the consumer that got its others. What a fault repeats is read twice, and an entry
    that is asked for twice may have gone out again in between. A chunk whose first one is acknowledged, or not stored
    ahead of it, waits for ever in a broker of Pulsar 4.0 (SharedConsumerAssignor), and what is stored behind it with
    it.
    """

    requirement = RequirementId("subscription.shared-entry-at-one-consumer")
    needs = (Subscribed("Shared"),)

    def start(self) -> None:
        super().start()
        self._assembling: dict[tuple[Group, str], Member] = {}
        """Who was sent the latest chunk of a message, by its uuid, until that was the last one."""
        self._begins: dict[tuple[Group, str], Position] = {}
        """Where a message begins: its first chunk, as far as that was sent to anybody."""
        self._inherited: set[tuple[Member, Position]] = set()
        """What was out at one that is gone, and went to another since."""
        self._repeated: dict[Member, list[Frame]] = {}
        """Requests for redelivery that a fault repeated."""
        self._forged: set[str] = set()
        """Subscriptions an ACK of which a fault altered: what a broker makes of bits for a message that has none, and
        of the permits behind it, is its own affair."""

    @on(Frame, "ACK")
    def acked(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and event.fate is Fate.ALTERED:
            self._forged.add(session.subscription)

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def asked_twice(self, event: Frame) -> None:
        _, member = self.member(event)
        if member is not None and event.fate is Fate.DUPLICATED:
            self._repeated.setdefault(member, []).append(event)

    def _may_have_given_back(self, member: Member, position: Position) -> bool:
        return any(
            not request.ids or position in (id.position for id in request.ids)
            for request in self._repeated.get(member, ())
        )

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        if group.kind != "Shared":
            return
        if frame.meta is not None and frame.meta.uuid is not None:
            self._assembling[group, frame.meta.uuid] = member
            if (frame.meta.chunk_id or 0) + 1 == frame.meta.chunks:
                del self._assembling[group, frame.meta.uuid]
            if frame.meta.chunk_id == 0:
                self._begins[group, frame.meta.uuid] = position
        for other in group.members:
            earlier = other.out.get(position)
            if earlier is None or other is member or (other, position) in self._inherited:
                continue
            if other.lives and self._may_have_given_back(other, position):
                continue
            if other.lives:
                self.breach(
                    "at-two-consumers",
                    f"{group}: entry {name_of(position)} went to {member} at {ms(frame.t_ns)} while it was out "
                    f"at {other}, which got it at {ms(earlier.t_ns)}",
                    earlier,
                    frame,
                )
            else:
                self._inherited.add((other, position))
                self.exercise(frame)

    def finish(self) -> None:
        for group in self.groups.values():
            if group.kind == "Shared" and group.name not in self._forged and not self._holds_back(group):
                orphan = self.orphan(group)
                for member in group.members:
                    self._left_behind(group, member, orphan)

    def _left_behind(self, group: Group, member: Member, orphan: Position | None) -> None:
        end = member.left
        heirs = [] if end is None else [heir for heir in group.members if self._inherits(heir, end.t_ns)]
        for position, frame in member.out.items():
            if orphan is not None and position > orphan:
                continue
            heir = next((heir for heir in heirs if self._may_assemble(group, heir, frame, position)), None)
            waits = position in group.unacked and (member, position) not in self._inherited
            if end is not None and heir is not None and waits:
                self.breach(
                    "left-behind",
                    f"{group}: entry {name_of(position)} was out at {member} when that went at {ms(end.t_ns)}, "
                    f"and never came to {heir}, which had {heir.permits} permits left",
                    frame,
                    end,
                )
                return

    def _may_assemble(self, group: Group, heir: Member, frame: Frame, position: Position) -> bool:
        """Whether a chunk is for this one: the first of a message for anybody, any other for who got those before it.
        Where the first one is acknowledged already, the rest is for nobody, and so is a chunk that is stored ahead of
        the first; and a message that its consumer did not get to the end when it went: a broker of Pulsar 4.0 holds the
        rest for that one, and sends it the first chunk again, too (apache/pulsar#26396)."""
        meta = frame.meta
        if meta is None or meta.uuid is None:
            return True
        if position < self._begins.get((group, meta.uuid), position):
            return False
        holder = self._assembling.get((group, meta.uuid))
        return not meta.chunk_id if holder is None else holder is heir

    def _inherits(self, heir: Member, gone_ns: int) -> bool:
        ended_ns = self.tracker.end_ns if heir.session.ended is None else heir.session.ended.t_ns
        return heir.permits > 0 and ended_ns - max(gone_ns, heir.joined.t_ns, heir.able_ns) > HANDED_OVER_NS

    def _holds_back(self, group: Group) -> bool:
        topic = self.view.case.topology.named(base_topic(group.topic))
        return topic is None or any(
            (topic.dispatch_rate.is_set, topic.subscription_rate.is_set, topic.max_unacked_per_consumer)
        )
