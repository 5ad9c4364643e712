"""Subscriptions: who may join, who gets what, and what becomes of it when a consumer goes."""

from __future__ import annotations

from collections import deque

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.dispatches import SETTLED_NS, DispatchLedger, Group, Member, name_of, sticky_key
from assay_conformance.checks.loading import BrokerEnds
from assay_conformance.checks.occasions import Subscribed
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Fate, Frame, Position
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic

HANDED_OVER_NS = 200 * MS
"""How long a consumer with permits must have been there for what another left behind to have reached it."""


class ExclusiveHasOne(DispatchLedger):
    """A consumer whose end the broker could have seen by then does not count: half-open ones may be replaced."""

    requirement = RequirementId("subscription.exclusive-one-consumer")
    skips_plain = True

    def joined(self, group: Group, member: Member) -> None:
        for other in self._others(group, member.session):
            self.breach(
                "second-admitted",
                f"{group}: {member} was let in at {ms(member.joined.t_ns)} while {other} was there, which came at "
                f"{ms(other.joined.t_ns)}",
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


class HandOver:
    """What was sent to somebody and not acknowledged when a consumer took over: it has to come first, in order."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._waiting = deque(sorted(group.unacked))

    @property
    def is_due(self) -> bool:
        """Whether anything still is."""
        while self._waiting and self._waiting[0] not in self._group.unacked:
            self._waiting.popleft()
        return bool(self._waiting)

    def passed_over(self, position: Position) -> Position | None:
        """An entry is sent: the one that had to be before it, None when all is well."""
        if not self.is_due or position < self._waiting[0]:
            return None
        return None if self._waiting[0] == position and self._waiting.popleft() else self._waiting[0]


class FailoverHandsOver(DispatchLedger):
    """Judged from what the broker says itself: ACTIVE_CONSUMER_CHANGE names the active consumer."""

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
                f"{group}: {member} became the active one and was sent entry {name_of(position)} at {ms(frame.t_ns)}, "
                f"before {name_of(missed)}, which nobody has acknowledged",
                group.unacked[missed],
                frame,
            )

    def _two_active(self, group: Group, member: Member, active: Member, frame: Frame) -> None:
        self.breach(
            "two-active",
            f"{group}: {member} was sent an entry at {ms(frame.t_ns)}, when {active} had been named the active one",
            active.joined,
            frame,
        )


class SharedGivesToOne(DispatchLedger):
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


class KeySharedKeepsKeys(DispatchLedger):
    """Between two changes of who is there. While one is being let in, the keys may move already. What crosses the close
    of its consumer was on its way before. Entries without a key have nothing in common."""

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
                f"{group}: key {key!r} went to {owner} at {ms(earlier.t_ns)} and to {member} at {ms(frame.t_ns)}, and "
                "nobody had come or gone in between",
                earlier,
                frame,
            )
        elif earlier is not frame and len(living) > 1:
            self.exercise(frame)


class ResumesAfterAcked(DispatchLedger):
    """Of Exclusive subscriptions, which are served in order. A broker that died may have lost acknowledgements of its
    last second."""

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
            self._say(
                "passed-over", f"before {name_of(missed)}, which is not acknowledged", group, member, missed, frame
            )
        elif not member.served and position in group.acked and not self._may_forget:
            if self._crossed(group, position) or self._overtaken(group, member, position, frame):
                return
            self._say("acked-again", "which is acknowledged", group, member, position, frame)

    def _crossed(self, group: Group, position: Position) -> bool:
        """Whether the acknowledgement of an entry may have come to a broker that was sending its consumer away."""
        ends = [member.left for member in group.members]
        closes = [end.t_ns for end in ends if isinstance(end, Frame) and end.dir is Direction.TO_CLIENT]
        return any(0 <= close_ns - group.acked_ns[position] < SETTLED_NS for close_ns in closes)

    def _overtaken(self, group: Group, member: Member, position: Position, frame: Frame) -> bool:
        """Whether the consumer acknowledged the entry, which it had from before, while its first permits were served:
        the two may have come together, and the permits first."""
        acked_ns = group.acked_ns[position]
        return member.joined.t_ns <= acked_ns and frame.t_ns - acked_ns < SETTLED_NS

    def _say(self, code: str, what: str, group: Group, member: Member, other: Position, frame: Frame) -> None:
        place = frame.ids[0].position
        earlier = group.unacked.get(other) or group.acked[other]
        text = f"{group}: {member} came at {ms(member.joined.t_ns)} and was sent entry {name_of(place)}, {what}"
        self.breach(code, text, earlier, member.joined, frame)
