"""Limits of unacknowledged messages: who has too many gets no more, and goes on once half of them are acknowledged.

A consumer is looked at before each of its turns, a subscription before every read: what was read by then is still sent.
A turn is as many entries as there is room for messages, by what an entry has on average: with batches among them a
consumer may get more than there was room for, though in one turn never more entries than the limit counts messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.dispatches import DispatchLedger, Group, Member
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.model.event import Ended, Event, Frame, Position, Stored
from assay_conformance.model.policy import Policies
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.flow._permits import charged

READ_BATCH_ENTRIES = 100
"""dispatcherMaxReadBatchSize: one read takes no more."""

KINDS = ("Shared", "Key_Shared")


@dataclass(slots=True)
class _Limits:
    """Of one subscription. `blocked`: consumers that have too many unacknowledged -> entries they were sent since;
    `over`: entries since the subscription had as many unacknowledged as it may have; `held`: by whom an entry is that
    was not acknowledged as a whole, and its messages; `moved`: the last event that may have made the broker send
    something."""

    of_consumer: int
    of_subscription: int
    blocked: dict[int, int] = field(default_factory=dict)
    over: int | None = None
    sent: set[Position] = field(default_factory=set)
    held: dict[Position, tuple[Member, int]] = field(default_factory=dict)
    batched: bool = False
    moved: Event | None = None

    @property
    def left_of_a_turn(self) -> int:
        """Entries that a consumer may still get behind the one that made it have too many."""
        return self.of_consumer - 1 if self.batched else 0

    def unacked_at_most(self, member: Member) -> int:
        """A batch of which members were acknowledged may count as if none were."""
        return sum(messages for holder, messages in self.held.values() if holder is member)

    def let_go(self, positions: Iterable[Position], holder: Member | None = None) -> None:
        """These are not out any more; with a `holder`: where they are at it."""
        for position in positions:
            if holder is None or self.held.get(position, (None, 0))[0] is holder:
                self.held.pop(position, None)


class MaxUnackedMessages(DispatchLedger):
    """Judged where a topic, its namespace or the broker sets a limit; the broker's own are too large for any Case."""

    requirement = RequirementId("flow.max-unacked-messages")

    def start(self) -> None:
        super().start()
        topology = self.view.case.topology
        self._policies = {topic.name: topology.policies_of(topic) for topic in topology.topics}
        self._limits: dict[Group, _Limits] = {}
        self._stored: dict[str, list[Stored]] = {}
        """What may be sent at once."""
        self._sought: set[tuple[str, str]] = set()
        """Topic and name of subscriptions that begin elsewhere than where they were made: what waits is not known."""
        self._end: Ended | None = None

    def concerned(self) -> bool:
        return any(_limits_of(policies) != (0, 0) for policies in self._policies.values())

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if event.meta.deliver_at_ms is None:
            self._stored.setdefault(event.topic, []).append(event)

    @on(Ended)
    def ended(self, event: Ended) -> None:
        self._end = event

    @on(Frame, "SEEK", "UNSUBSCRIBE")
    def sought(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None:
            self._sought.add((session.topic, session.subscription))

    @on(Frame, "FLOW", "ACK", "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def moves(self, event: Frame) -> None:
        group, member = self.member(event)
        limits = None if group is None else self._of(group)
        if limits is None or member is None or not event.at_broker:
            return
        limits.moved = event
        if event.command == "REDELIVER_UNACKNOWLEDGED_MESSAGES":
            limits.blocked.pop(id(member), None)
            limits.over = None
            limits.let_go([id.position for id in event.ids] or list(limits.held), member)
        elif event.command == "ACK" and event.ack_type == "Individual" and member.takes_acks:
            limits.let_go(_whole_entries(event))

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        limits = self._of(group)
        if limits is None:
            return
        limits.moved = frame
        limits.sent.add(position)
        limits.batched = limits.batched or frame.messages > 1
        limits.held[position] = (member, charged(frame))
        self._judge_consumer(group, limits, member, frame)
        self._judge_subscription(group, limits, frame)

    def _judge_consumer(self, group: Group, limits: _Limits, member: Member, frame: Frame) -> None:
        most, unacked = limits.of_consumer, _unacked(member)
        if not most:
            return
        # A Key_Shared dispatcher that reads for others looks at the room of each (filterAndGroupEntriesForDispatching).
        served_beside = group.kind == "Key_Shared" and len(group.members) > 1
        if unacked < most if served_beside else unacked <= most // 2:
            limits.blocked.pop(id(member), None)
        since = limits.blocked.get(id(member))
        if since is not None and since >= limits.left_of_a_turn:
            self.breach(
                "consumer-over-limit",
                f"{group}: {member} was sent an entry at {ms(frame.t_ns)} with {unacked} messages unacknowledged; at "
                f"{most} it should have got no more until {most // 2} are left",
                *list(member.out.values())[:1],
                frame,
            )
        if since is not None:
            limits.blocked[id(member)] = since + 1
        elif unacked + charged(frame) >= most:
            limits.blocked[id(member)] = 0
            self.exercise(frame)

    def _judge_subscription(self, group: Group, limits: _Limits, frame: Frame) -> None:
        most, unacked = limits.of_subscription, sum(_unacked(member) for member in group.living())
        if not most:
            return
        if limits.over is not None and unacked < most // 2:
            limits.over = None
        if limits.over is not None:
            limits.over += 1
            if limits.over == READ_BATCH_ENTRIES:
                self.breach(
                    "subscription-over-limit",
                    f"{group} was sent an entry at {ms(frame.t_ns)} with {unacked} messages unacknowledged; at {most} "
                    f"nothing more should have been read, and {READ_BATCH_ENTRIES} entries have left since",
                    frame,
                )
        elif unacked + charged(frame) >= most:
            limits.over = 0
            self.exercise(frame)

    def finish(self) -> None:
        for group, limits in self._limits.items():
            if self.groups.get((group.topic, group.name)) is group:
                for member in group.members:
                    self._stalled(group, limits, member)

    def _stalled(self, group: Group, limits: _Limits, member: Member) -> None:
        """Permits, messages and room for them, and nothing came."""
        end = member.session.ended or member.left or self._end
        moved = None if end is None else _moved(group, limits, end)
        if end is None or moved is None or moved.t_ns > end.t_ns or not _has_room(group, limits, member, end):
            return
        if (group.topic, group.name) in self._sought or (group.kind == "Key_Shared" and len(group.members) > 1):
            return  # What waits may be of keys that are another one's.
        earliest = member.session.request.fields.get("initialPosition") == "Earliest"
        tolerance = TOLERANCES["answer"]
        due = [entry for entry in self._stored.get(group.topic, ()) if entry.t_ns + tolerance.slack_ns < end.t_ns]
        waits = len(limits.sent) < len(due) and member.permits > 0 and earliest
        if not waits or end.t_ns - moved.t_ns <= tolerance.slack_ns:
            return
        if not self.tracker.load.quiet(moved.t_ns, end.t_ns, tolerance):
            self.undecided("the machine was too busy to tell that a consumer is not served any more")
            return
        self.breach(
            "stalled",
            f"{group}: {member} had {limits.unacked_at_most(member)} messages unacknowledged and {member.permits} "
            f"permits from {ms(moved.t_ns)} to {ms(end.t_ns)}, and was sent nothing of what waits",
            moved,
            end,
        )

    def _of(self, group: Group) -> _Limits | None:
        policies = self._policies.get(base_topic(group.topic))
        if policies is None or group.kind not in KINDS:
            return None
        own, together = _limits_of(policies)
        if not own and not together:
            return None
        return self._limits.setdefault(group, _Limits(own, together))


def _limits_of(policies: Policies) -> tuple[int, int]:
    """Of a consumer and of a subscription; 0 where there is none."""
    return max(policies.max_unacked_per_consumer or 0, 0), max(policies.max_unacked_per_subscription or 0, 0)


def _moved(group: Group, limits: _Limits, end: Event) -> Event | None:
    """The last that may have made the broker send something: whoever goes leaves room, too."""
    left = [other.left for other in group.members if other.left is not None and other.left.t_ns < end.t_ns]
    return max((event for event in (limits.moved, *left) if event is not None), key=lambda one: one.t_ns, default=None)


def _has_room(group: Group, limits: _Limits, member: Member, end: Event) -> bool:
    """Whether nothing was over a limit at the end of this consumer."""
    there = [other for other in group.members if other.left is None or other.left.t_ns >= end.t_ns]
    together = sum(map(limits.unacked_at_most, there))
    own = not limits.of_consumer or limits.unacked_at_most(member) <= limits.of_consumer // 2
    return own and (not limits.of_subscription or together < limits.of_subscription // 2)


def _unacked(member: Member) -> int:
    """At least: of what members were acknowledged nothing is counted."""
    return sum(map(charged, member.out.values()))


def _whole_entries(ack: Frame) -> Iterator[Position]:
    """Those that an ACK names without saying which of their members are left."""
    for number, id in enumerate(ack.ids):
        if number >= len(ack.ack_sets) or not ack.ack_sets[number]:
            yield id.position
