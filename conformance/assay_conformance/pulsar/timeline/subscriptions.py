"""Subscriptions as the broker serves them: their consumers, what was sent to whom, and what was acknowledged.

Everything here is seen from the broker's side of the wire, where its duties are: a MESSAGE counts when the broker wrote
it, an ACK when it came to the broker. An entry that an ACK names need not be sent again, even if messages of its batch
are left.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

from assay_conformance.history.events import grouped
from assay_conformance.judging.intervals import Interval, Intervals
from assay_conformance.judging.tolerance import MS
from assay_conformance.model.case import Case, Who
from assay_conformance.model.event import Closed, Event, Frame, MessageId, Meta, Position
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline.consumers import ConsumerSession
from assay_conformance.pulsar.timeline.deliveries import Delivery

DEFAULT_KIND: Final = "Exclusive"
"""The type of a subscription whose SUBSCRIBE names none."""

SETTLED_NS: Final = 200 * MS
"""How long a broker may take to process an ACK."""


def sticky_key(meta: Meta) -> str | bytes | None:
    """Return the key by which Key_Shared selects; None for an entry without one."""
    return meta.ordering_key if meta.ordering_key is not None else meta.key


def name_of(position: Position) -> str:
    """Return how sentences name the entry there."""
    return MessageId(*position).name


def shrinking_topics(case: Case) -> frozenset[object]:
    """Return the topics whose backlog may shrink without an acknowledgment.

    A step changes their policies, or their entries may expire.
    """
    steps = [step for step in case.steps if step.who is Who.BROKER]
    changed = {step.args.get("topic") for step in steps if step.verb in ("set_policy", "delete")}
    topics = case.topology.topics
    return frozenset(changed | {topic.name for topic in topics if topic.message_ttl_s or not topic.persistent})


@dataclass(slots=True, eq=False)
class Member:
    """A consumer that the broker admitted with `joined`. `deliveries`: what it was sent, in order. `left`: the event by
    which the broker noticed that it is gone, which in a black hole is later than the end that its client sees."""

    session: ConsumerSession
    joined: Frame
    deliveries: list[Delivery] = field(default_factory=list)
    left: Closed | Frame | None = None

    def lives(self, at: Event) -> bool:
        """Return whether it had not ended, as far as is known."""
        ended = self.session.ended
        return self.joined.seq <= at.seq and (ended is None or ended.seq >= at.seq)

    def takes_acks(self, at: Event) -> bool:
        """Return whether the broker had not ended it.

        An ACK that left before the consumer's own close arrives before that, too.
        """
        ended = self.session.ended
        by_client = isinstance(ended, Frame) and ended.dir is Direction.TO_BROKER
        return ended is None or ended.seq >= at.seq or by_client

    def out(self, at: Event) -> dict[Position, Delivery]:
        """Return what it had been sent, and had neither acknowledged nor requested again."""
        return {one.position: one for one in self.deliveries if one.is_out(at.seq)}

    def __str__(self) -> str:
        return f"consumer {self.session.consumer_id} of connection {self.session.conn}"


class Acked(NamedTuple):
    """An entry that was acknowledged whole, by a consumer that was there: as it was sent last, and the ACK."""

    delivery: Delivery
    ack: Frame


@dataclass(slots=True, eq=False)
class SubscribeAnswered:
    """A SUBSCRIBE at the broker, and what it answered."""

    session: ConsumerSession
    answer: Frame | None = None

    @property
    def refused(self) -> bool:
        """Whether that is an ERROR."""
        return self.answer is not None and self.answer.command == "ERROR"


@dataclass(eq=False)
class Subscription:
    """One subscription on one topic, until a SEEK or UNSUBSCRIBE moved it (`over`): after that it is another one.

    Indexes are made once, when all of it is known.
    """

    topic: str
    name: str
    durable: bool
    asked: list[SubscribeAnswered] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    """What the broker sent to any of its members, in order."""
    acked: dict[Position, Acked] = field(default_factory=dict)
    over: Frame | None = None
    kinds: list[tuple[int, str]] = field(default_factory=list)
    """Its types, Exclusive or another, each from an event on: a SUBSCRIBE may change it while no consumer is attached.
    """
    _by_session: dict[int, Member] = field(default_factory=dict, init=False, repr=False)
    """`id` of a session -> the last time that it was admitted."""

    @property
    def kind(self) -> str:
        """Its type, Exclusive or another; the last one, where it had several."""
        return self.kinds[-1][1] if self.kinds else DEFAULT_KIND

    def kind_at(self, at: Event) -> str:
        """Return its type at an event."""
        place = bisect_right(self.kinds, at.seq, key=lambda one: one[0])
        return self.kinds[place - 1][1] if place else DEFAULT_KIND

    @property
    def served(self) -> list[tuple[Member, Delivery]]:
        """What the broker sent, each with the member that it was sent to, in order."""
        sent = ((member, delivery) for member in self.members for delivery in member.deliveries)
        return sorted(sent, key=lambda one: one[1].frame.seq)

    def out_before(self, delivery: Delivery) -> Sequence[tuple[Member, Delivery]]:
        """Return who still had its entry when a delivery was sent, each with what it was sent last, in order."""
        return self._out_before.get(id(delivery), ())

    @cached_property
    def _out_before(self) -> dict[int, list[tuple[Member, Delivery]]]:
        found: dict[int, list[tuple[Member, Delivery]]] = {}
        last: dict[Position, dict[int, tuple[Member, Delivery]]] = {}
        for member, delivery in self.served:
            its = last.setdefault(delivery.position, {})
            if its:
                found[id(delivery)] = [one for one in its.values() if one[1].is_out(delivery.frame.seq)]
            its[id(member)] = (member, delivery)
        return found

    def living(self, at: Event) -> list[Member]:
        """Return members that had joined, and not ended."""
        return [*self._living.at(at.seq)]

    def changes_before(self, at: Event) -> int:
        """Return how often a consumer had joined or ended."""
        return bisect_right(self._changes, at.seq)

    def joined_before(self, at: Event) -> int:
        """Return how many members had joined, those that had ended among them."""
        return bisect_left(self.members, at.seq, key=lambda member: member.joined.seq)

    def is_alone(self, member: Member, at: Event) -> bool:
        """Return whether this member alone had joined, and not ended."""
        return [*islice(self._living.at(at.seq), 2)] == [member]

    def is_settled(self, at: Event) -> bool:
        """Return whether broker and client agreed on who was there."""
        return not self._unnoticed.any_at(at.seq)

    def admit(self, member: Member) -> None:
        """Let one in."""
        self.members.append(member)
        self._by_session[id(member.session)] = member

    def member_of(self, session: ConsumerSession | None) -> Member | None:
        """Return the last membership of this session."""
        return self._by_session.get(id(session))

    def is_asked(self, at: Event) -> bool:
        """Return whether a consumer was waiting to be admitted."""
        return self._waiting.any_at(at.seq)

    def unacked(self, at: Event) -> Iterator[Delivery]:
        """Yield every entry that had been sent and was not acknowledged, as it was sent last; in order."""
        return self._unacked.at(at.seq)

    def has_unacked(self, at: Event, position: Position | None = None) -> bool:
        """Return whether there was any such entry, or the one there was one."""
        found = self._unacked if position is None else self._unacked_at.get(position)
        return found is not None and found.any_at(at.seq)

    def is_acked(self, position: Position, at: Event) -> bool:
        """Return whether an entry had been acknowledged whole."""
        return position in self.acked and self.acked[position].ack.seq < at.seq

    def is_unacked(self, last: Delivery, at: Event) -> bool:
        """Return whether an entry, as it was sent last, was still not acknowledged."""
        return not self._is_settled(last.position, last, at)

    def _is_settled(self, position: Position, last: Delivery, at: Event) -> bool:
        return self.is_acked(position, at) or (last.settled is not None and last.settled.seq < at.seq)

    @cached_property
    def _living(self) -> Intervals[Member]:
        return Intervals(Interval(one.joined.seq, _seq(one.session.ended), one) for one in self.members)

    @cached_property
    def _changes(self) -> list[int]:
        ended = (one.session.ended for one in self.members)
        ends = (end.seq + 1 for end in ended if end is not None)
        return sorted((*(one.joined.seq for one in self.members), *ends))

    @cached_property
    def _unnoticed(self) -> Intervals[Member]:
        """Members that had ended, and were not known to be gone."""
        ended = ((one, one.session.ended) for one in self.members)
        return Intervals(
            Interval(max(one.joined.seq, end.seq + 1), _seq(one.left), one) for one, end in ended if end is not None
        )

    @cached_property
    def _waiting(self) -> Intervals[SubscribeAnswered]:
        return Intervals(Interval(one.session.request.seq + 1, _seq(one.answer), one) for one in self.asked)

    @cached_property
    def _unacked(self) -> Intervals[Delivery]:
        """Each until its entry was acknowledged, or sent once more."""
        return Intervals(self._unacked_intervals(), order=lambda one: one.thing.position)

    @cached_property
    def _unacked_at(self) -> dict[Position, Intervals[Delivery]]:
        """By entry."""
        by_entry = grouped(self._unacked_intervals(), lambda one: one.thing.position)
        return {position: Intervals(intervals) for position, intervals in by_entry.items()}

    def _unacked_intervals(self) -> Iterator[Interval[Delivery]]:
        later: dict[Position, Frame] = {}
        for one in reversed(self.deliveries):
            acked = self.acked.get(one.position)
            ends = (later.get(one.position), one.settled, None if acked is None else acked.ack)
            until = min((end.seq for end in ends if end is not None), default=None)
            yield Interval(one.frame.seq + 1, until, one)
            later[one.position] = one.frame

    def __str__(self) -> str:
        return f"{self.kind} subscription {self.name} of topic {self.topic}"


def _seq(event: Event | None) -> int | None:
    return None if event is None else event.seq
