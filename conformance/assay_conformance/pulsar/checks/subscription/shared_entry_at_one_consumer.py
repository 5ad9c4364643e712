"""subscription.shared-entry-at-one-consumer"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.dispatches import DispatchLedger, Group, Member, name_of
from assay_conformance.checks.occasions import Subscribed
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.event import Fate, Frame, Position
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic

TAKEOVER_NS = 200 * MS
"""How long a consumer with permits must be attached until it has what another one left."""


class SharedEntryAtOneConsumer(DispatchLedger):
    """An entry is at one consumer at a time; what a consumer leaves goes to the others, as far as they have permits.

    Where rates, delays or limits of unacknowledged messages may hold an entry back, only the first part is judged. The
    chunks of a message wait for permits of the consumer that got the earlier ones. A frame that a fault duplicates is
    read twice, and an entry whose redelivery is requested twice may have been sent again in between. A chunk whose
    first chunk is acknowledged, or is not stored before it, is never delivered by a broker of Pulsar 4.0
    (SharedConsumerAssignor), nor is what is stored after it.
    """

    requirement = RequirementId("subscription.shared-entry-at-one-consumer")
    needs = (Subscribed("Shared"),)

    def start(self) -> None:
        super().start()
        self._assembling: dict[tuple[Group, str], Member] = {}
        """(subscription, uuid) -> the consumer that got the latest chunk of an incomplete message."""
        self._begins: dict[tuple[Group, str], Position] = {}
        """(subscription, uuid) -> the first chunk of a message, once it was sent."""
        self._redelivered: set[tuple[Member, Position]] = set()
        """Entries of a consumer that left, once another one got them."""
        self._repeated_requests: dict[Member, list[Frame]] = {}
        """Requests for redelivery that a fault duplicated."""
        self._altered_acks: set[str] = set()
        """Subscriptions with an ACK that a fault altered: what a broker does with unexpected bits, and with the permits
        after them, is not judged."""

    @on(Frame, "ACK")
    def acked(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and event.fate is Fate.ALTERED:
            self._altered_acks.add(session.subscription)

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def redelivery_requested_twice(self, event: Frame) -> None:
        _, member = self.member(event)
        if member is not None and event.fate is Fate.DUPLICATED:
            self._repeated_requests.setdefault(member, []).append(event)

    def _may_have_returned(self, member: Member, position: Position) -> bool:
        return any(
            not request.ids or position in (id.position for id in request.ids)
            for request in self._repeated_requests.get(member, ())
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
            if earlier is None or other is member or (other, position) in self._redelivered:
                continue
            if other.lives and self._may_have_returned(other, position):
                continue
            if other.lives:
                self.breach(
                    "at-two-consumers",
                    f"{group}: entry {name_of(position)} went to {member} at {ms(frame.t_ns)}; expected it to stay at "
                    f"{other}, which got it at {ms(earlier.t_ns)} and had not returned it",
                    earlier,
                    frame,
                )
            else:
                self._redelivered.add((other, position))
                self.exercise(frame)

    def finish(self) -> None:
        for group in self.groups.values():
            if group.kind == "Shared" and group.name not in self._altered_acks and not self._holds_back(group):
                orphan = self.orphan(group)
                for member in group.members:
                    self._left_behind(group, member, orphan)

    def _left_behind(self, group: Group, member: Member, orphan: Position | None) -> None:
        end = member.left
        successors = (
            []
            if end is None
            else [successor for successor in group.members if self._could_receive(successor, end.t_ns)]
        )
        for position, frame in member.out.items():
            if orphan is not None and position > orphan:
                continue
            successor = next(
                (successor for successor in successors if self._may_assemble(group, successor, frame, position)), None
            )
            waits = position in group.unacked and (member, position) not in self._redelivered
            if end is not None and successor is not None and waits:
                self.breach(
                    "left-behind",
                    f"{group}: entry {name_of(position)} was unacknowledged at {member}, which left at {ms(end.t_ns)}; "
                    f"expected it at another consumer; it never came to {successor}, which had {successor.permits} "
                    "permits left",
                    frame,
                    end,
                )
                return

    def _may_assemble(self, group: Group, successor: Member, frame: Frame, position: Position) -> bool:
        """Whether a chunk may go to this consumer: the first chunk of a message to any, others to the one that got
        those before. Where the first one is acknowledged, the rest goes to none, nor does a chunk that is stored before
        the first. Neither does the rest of a message that its consumer had not completed when it left: a broker of
        Pulsar 4.0 keeps it for that consumer, even when the first chunk is sent again (apache/pulsar#26396)."""
        meta = frame.meta
        if meta is None or meta.uuid is None:
            return True
        if position < self._begins.get((group, meta.uuid), position):
            return False
        holder = self._assembling.get((group, meta.uuid))
        return not meta.chunk_id if holder is None else holder is successor

    def _could_receive(self, successor: Member, gone_ns: int) -> bool:
        ended_ns = self.tracker.end_ns if successor.session.ended is None else successor.session.ended.t_ns
        return successor.permits > 0 and ended_ns - max(gone_ns, successor.joined.t_ns, successor.able_ns) > TAKEOVER_NS

    def _holds_back(self, group: Group) -> bool:
        topic = self.view.case.topology.named(base_topic(group.topic))
        return topic is None or any(
            (topic.dispatch_rate.is_set, topic.subscription_rate.is_set, topic.max_unacked_per_consumer)
        )
