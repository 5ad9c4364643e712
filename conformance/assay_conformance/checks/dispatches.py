"""Subscriptions as the broker serves them: who is in, what is out at whom, and what was acknowledged.

Everything here is seen from the broker's side of the wire, where its duties are: a MESSAGE counts when the broker wrote
it, an ACK when it came to the broker. What an ACK names at all needs not be sent again as far as these checks are
concerned, a batch with members left included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from assay_conformance.checks.base import Check, View, call_hooks, listening, on
from assay_conformance.checks.occasions import DEFAULT_KIND
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import ConsumerSession, Tracker
from assay_conformance.model.case import Case, Who
from assay_conformance.model.event import Closed, ClosedBy, Frame, MessageId, Meta, Position
from assay_conformance.model.fault import Cut, CutHow, Direction
from assay_conformance.model.topic_names import base_topic

SHARED = frozenset({"Shared", "Key_Shared"})
"""Types of subscription in which nothing is acknowledged cumulatively."""

SETTLED_NS = 200 * MS
"""How long an ACK may be under way in a broker that has it already."""


def sticky_key(meta: Meta) -> str | bytes | None:
    """What Key_Shared goes by; None for an entry without a key."""
    return meta.ordering_key if meta.ordering_key is not None else meta.key


def name_of(position: Position) -> str:
    """How sentences call the entry there."""
    return MessageId(*position).name


@dataclass(slots=True, eq=False)
class Member:
    """A consumer the broker let in. `out`: what it was sent and has not acknowledged or asked for again. `able_ns`:
    since when it has permits, if it has any. `left`: the event by which the broker knew that it left, which in a black
    hole is later than the end that its client sees."""

    session: ConsumerSession
    joined: Frame
    out: dict[Position, Frame] = field(default_factory=dict)
    permits: int = 0
    able_ns: int = 0
    served: bool = False
    left: Closed | Frame | None = None

    @property
    def lives(self) -> bool:
        """As far as anybody knows."""
        return self.session.ended is None

    @property
    def is_settled(self) -> bool:
        """Whether broker and client agree on that."""
        return self.lives or self.left is not None

    @property
    def takes_acks(self) -> bool:
        """The broker has not ended it: an ACK that left before the consumer's own close arrives before that, too."""
        end = self.session.ended
        return end is None or (isinstance(end, Frame) and end.dir is Direction.TO_BROKER)

    def __str__(self) -> str:
        return f"consumer {self.session.consumer_id} of connection {self.session.conn}"


@dataclass(slots=True, eq=False)
class Group:
    """One subscription on one topic. `unacked`: every entry that was sent and not acknowledged."""

    topic: str
    name: str
    kind: str
    durable: bool
    members: list[Member] = field(default_factory=list)
    asking: set[int] = field(default_factory=set)
    """Connections whose SUBSCRIBE is not answered."""
    unacked: dict[Position, Frame] = field(default_factory=dict)
    acked: dict[Position, Frame] = field(default_factory=dict)
    acked_ns: dict[Position, int] = field(default_factory=dict)

    def has_settled(self, position: Position, until_ns: int) -> bool:
        """Whether an entry was acknowledged so long before a time that the broker knew it by then: an ACK that crosses
        an unload is lost in it."""
        return position in self.acked and self.acked_ns[position] + SETTLED_NS <= until_ns

    def living(self) -> list[Member]:
        return [member for member in self.members if member.lives]

    def member_of(self, session: ConsumerSession | None) -> Member | None:
        for member in reversed(self.members):
            if member.session is session:
                return member
        return None

    def __str__(self) -> str:
        return f"{self.kind} subscription {self.name} of topic {self.topic}"


def shrinking_topics(case: Case) -> frozenset[object]:
    """Topics whose backlog may shrink without an acknowledgement: a step changes their policies, or their entries may
    be gone by themselves."""
    steps = [step for step in case.steps if step.who is Who.BROKER]
    changed = {step.args.get("topic") for step in steps if step.verb in ("set_policy", "delete")}
    topics = case.topology.topics
    return frozenset(changed | {topic.name for topic in topics if topic.message_ttl_s or not topic.persistent})


class DispatchLedger(Check):
    """A check of what a broker does for its groups. The attempt's `GroupLife` keeps them, and calls the check about
    them, ahead of its own handlers."""

    kept: Groups

    @property
    def groups(self) -> dict[tuple[str, str], Group]:
        """By topic and name of the subscription."""
        return self.kept.groups

    def member(self, event: Frame) -> tuple[Group | None, Member | None]:
        """Whose a frame is."""
        return self.kept.member(event)

    def shrinking(self) -> frozenset[object]:
        """Topics that are not kept."""
        return shrinking_topics(self.view.case)

    # --- what a check may look at, group by group ---

    def joined(self, group: Group, member: Member) -> None:
        """The broker answered SUCCESS."""

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        """The broker writes a MESSAGE; it is not in `out` and `unacked` yet."""


class Groups:
    """The groups of all topics but some, as checks see them."""

    def __init__(self, tracker: Tracker) -> None:
        self.groups: dict[tuple[str, str], Group] = {}
        """By topic and name of the subscription."""
        self._tracker = tracker

    def of(self, session: ConsumerSession) -> Group | None:
        return self.groups.get((session.topic, session.subscription))

    def member(self, event: Frame) -> tuple[Group | None, Member | None]:
        """Whose a frame is."""
        session = self._tracker.consumer_of(event)
        group = None if session is None else self.groups.get((session.topic, session.subscription))
        return group, None if group is None else group.member_of(session)


def all_groups(view: View, checks: Iterable[Check]) -> list[GroupLife]:
    """Kept once for all of these checks that leave out the same topics."""
    asking: dict[frozenset[object], list[DispatchLedger]] = {}
    for check in checks:
        if isinstance(check, DispatchLedger):
            asking.setdefault(check.shrinking(), []).append(check)
    return [GroupLife(view, shrinking, together) for shrinking, together in asking.items()]


class GroupLife:
    """Keeps the groups of all topics but `shrinking`, and tells the checks."""

    def __init__(self, view: View, shrinking: frozenset[object], checks: Sequence[DispatchLedger]) -> None:
        self._kept = Groups(view.tracker)
        self.groups = self._kept.groups
        self.member = self._kept.member
        self._tracker = view.tracker
        self._shrinking = shrinking
        self._requests: dict[tuple[int, int], ConsumerSession] = {}
        cuts = [fault.action for fault in view.case.faults if isinstance(fault.action, Cut)]
        self._hidden = any(cut.how is CutHow.BLACKHOLE for cut in cuts)
        self._joined = listening(checks, DispatchLedger.joined)
        self._sent = listening(checks, DispatchLedger.sent)
        for check in checks:
            check.kept = self._kept

    @on(Frame, "SUBSCRIBE")
    def subscribe(self, event: Frame) -> None:
        session = self._tracker.consumer_of(event)
        if not event.at_broker or session is None or event.request_id is None:
            return
        self._requests[event.conn, event.request_id] = session
        if base_topic(session.topic) in self._shrinking:
            return
        group = self._group(session)
        kind = str(event.fields.get("subType", DEFAULT_KIND))
        if not group.living():
            group.kind = kind
        group.asking.add(event.conn)

    @on(Frame, "SUCCESS", "ERROR")
    def answered(self, event: Frame) -> None:
        if not event.at_broker or event.request_id is None:
            return
        session = self._requests.pop((event.conn, event.request_id), None)
        group = None if session is None else self._kept.of(session)
        if session is None or group is None:
            return
        group.asking.discard(event.conn)
        if event.command != "ERROR":
            member = Member(session, event)
            group.members.append(member)
            call_hooks(self._joined, group, member)

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        """Count the permits. A FLOW that crosses the broker's CLOSE_CONSUMER has no effect."""
        member = self.member(event)[1]
        if event.at_broker and member is not None and member.lives:
            if member.permits <= 0:
                member.able_ns = event.t_ns
            member.permits += event.permits or 0

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        group, member = self.member(event)
        if not event.at_broker or group is None or member is None or not event.ids:
            return
        position = event.ids[0].position
        if self._sent:
            call_hooks(self._sent, group, member, event, position)
        member.served = True
        member.out[position] = event
        member.permits -= event.messages
        if position not in group.acked:
            group.unacked[position] = event

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        """Settle entries. An ACK that crosses the broker's CLOSE_CONSUMER names a closed consumer, and settles nothing;
        as does a cumulative one that names several entries, or comes from one of several consumers. Whether one settles
        anything that comes ahead of the answer to its consumer's SUBSCRIBE, is unknown."""
        group, member = self.member(event)
        if not event.at_broker or group is None:
            return
        if not (event.conn in group.asking if member is None else member.takes_acks):
            return
        if event.ack_type == "Cumulative" and (group.kind in SHARED or len(event.ids) != 1):
            return
        lives = member is not None and member.lives
        cumulative, sets = event.ack_type == "Cumulative", event.ack_sets
        for number, id in enumerate(event.ids):
            if cumulative:
                out = {} if member is None else member.out
                for position in [known for known in {**group.unacked, **out} if known < id.position]:
                    self._settle(group, position, event, whole=lives)
            # One that crosses the broker's CLOSE_CONSUMER has no effect.
            whole = lives and not (number < len(sets) and sets[number])
            self._settle(group, id.position, event, whole=whole)

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def redeliver(self, event: Frame) -> None:
        group, member = self.member(event)
        if not event.at_broker or group is None or member is None:
            return
        for position in [id.position for id in event.ids] or list(member.out):
            member.out.pop(position, None)

    @on(Frame, "CLOSE_CONSUMER")
    def closed(self, event: Frame) -> None:
        member = self.member(event)[1]
        if event.at_broker and member is not None:
            member.left = member.left or event

    @on(Closed)
    def cut(self, event: Closed) -> None:
        if self._hidden and event.by is ClosedBy.CLIENT:
            return
        for group in self.groups.values():
            for member in group.members:
                if member.session.conn == event.conn:
                    member.left = member.left or event

    @on(Frame, "SEEK", "UNSUBSCRIBE")
    def moved(self, event: Frame) -> None:
        """Where the subscription stands is another matter from here on."""
        group = self.member(event)[0]
        if event.at_broker and group is not None:
            del self.groups[group.topic, group.name]

    # --- inside ---

    def _settle(self, group: Group, position: Position, ack: Frame, *, whole: bool) -> None:
        """An entry that was acknowledged may be out again: the first ACK was lost, or went with its connection."""
        frame = group.unacked.pop(position, None)
        if whole and frame is not None:
            group.acked[position] = frame
            group.acked_ns[position] = ack.t_ns
        for holder in group.members:
            if holder.out:
                holder.out.pop(position, None)

    def _group(self, session: ConsumerSession) -> Group:
        durable = session.request.fields.get("durable", True) is not False
        new = Group(session.topic, session.subscription, DEFAULT_KIND, durable)
        return self.groups.setdefault((session.topic, session.subscription), new)
