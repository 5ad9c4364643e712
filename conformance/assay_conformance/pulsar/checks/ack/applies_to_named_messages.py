from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from assay_conformance.checks.consumption import bits_of, indexes_of, listed, plain_acks
from assay_conformance.ledger.clauses import SHARED_TYPES
from assay_conformance.model.event import Closed, ClosedBy, Event, Fate, Frame, MessageId, Position
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline import (
    Delivery,
    Exercised,
    Member,
    Says,
    Subscription,
    Timeline,
    breach,
    check,
    ms,
    name_of,
)
from assay_conformance.pulsar.timeline.dispatching import permits_left
from assay_conformance.pulsar.timeline.subscriptions import SETTLED_NS


@dataclass(slots=True)
class _Named:
    """An entry that was sent. `all` and `left`: a bit for each of its messages, and for each that no ACK has settled.
    `decisive`: the ACK that would be read otherwise by a broker that errs: it names one message, or clears other bits
    than one before it. `holder`: to whom it was sent last."""

    all: int
    left: int
    holder: Member
    last: Frame | None = None
    decisive: Frame | None = None

    def settle(self, id: MessageId, words: tuple[int, ...], ack: Frame) -> None:
        """Settle messages by an individual ACK, with an ack_set or without."""
        cleared = self.all & ~bits_of(words) if words else self.all
        if self.left & cleared:
            if (not words and id.batch_index >= 0) or (words and self.all & ~self.left & ~cleared):
                self.decisive = ack
            self.left &= ~cleared
            self.last = ack


@dataclass(slots=True)
class _Kept:
    """Of one subscription. `uncovered`: those that no cumulative ACK has settled, in order; the others are not
    looked at again.
    `void`: what a cumulative ACK named that settles nothing, and that has not come again. `odd`: a fault wrote bits
    into an ACK, and what a broker makes of those for a message that has none, and of the permits after it, is its own
    affair."""

    named: dict[Position, _Named] = field(default_factory=dict)
    uncovered: list[Position] = field(default_factory=list)
    void: dict[Position, Frame] = field(default_factory=dict)
    odd: bool = False


@check("ack.applies-to-named-messages")
def applies_to_named_messages(timeline: Timeline) -> Says:
    """ack.applies-to-named-messages: an ACK acknowledges the messages that it names, and no others: a redelivered entry
    carries exactly the messages that are left.

    Judged where it shows: an entry is redelivered, or a consumer attaches that it would be redelivered to. Which ACKs a
    broker still knows after it loaded a topic, and which consumer gets a redelivery, are judged by other requirements.
    A non-durable subscription is a new one whenever its consumer attaches again.
    """
    # With these a broker's knowledge ends. A CLOSE_CONSUMER that says so may be lost with its connection.
    closed = [one for one in timeline.events.of(Closed) if one.by is ClosedBy.BROKER]
    for subscription in timeline.steady_subscriptions:
        if subscription.deliveries:
            yield from _Walk(timeline, subscription).says([*closed, *timeline.reloads(subscription.topic)])


class _Walk:
    """What happened to one subscription."""

    def __init__(self, timeline: Timeline, subscription: Subscription) -> None:
        self._timeline, self._subscription = timeline, subscription
        self._by_index = timeline.topology.settings.batch_index_acks
        self._kept = _Kept()

    def says(self, loads: list[Event]) -> Says:
        subscription, over = self._subscription, self._subscription.over
        steps: list[tuple[int, Event, Member | None, Delivery | None]] = [
            *((delivery.frame.seq, delivery.frame, member, delivery) for member, delivery in subscription.served),
            *((member.joined.seq, member.joined, member, None) for member in subscription.members),
            *((ack.seq, ack, member, None) for member, ack in self._acks()),
            *((end.seq, end, None, None) for end in (*loads, *self._unloads())),
        ]
        for seq, event, member, delivery in sorted(steps, key=lambda step: step[0]):
            if over is not None and seq > over.seq:
                break
            if member is None:
                self._kept = _Kept()
            elif delivery is not None and isinstance(event, Frame):
                yield from self._is_sent(member, event, delivery.position)
            elif event is member.joined:
                yield from self._joins(member)
            elif isinstance(event, Frame):
                self._acked(member, event)
        yield from self._untaken()

    def _acks(self) -> Iterator[tuple[Member, Frame]]:
        for member in self._subscription.members:
            for ack in self._timeline.consumer_sessions.frames(member.session, "ACK"):
                current = self._subscription.member_of(member.session) is member
                if current and ack.at_broker and plain_acks(ack) and ack.seq > member.joined.seq:
                    yield member, ack

    def _unloads(self) -> Iterator[Frame]:
        for member in self._subscription.members:
            closes = self._timeline.consumer_sessions.frames(member.session, "CLOSE_CONSUMER")
            yield from (close for close in closes if close.dir is Direction.TO_CLIENT)

    def _acked(self, member: Member, ack: Frame) -> None:
        kept = self._kept
        kept.odd = kept.odd or (ack.fate is Fate.ALTERED and any(ack.ack_sets))
        if not member.lives(ack):
            # One that crosses the consumer's close may be too late.
            kept.named.clear()
            kept.uncovered.clear()
        elif ack.ack_type == "Cumulative":
            self._up_to(ack)
        else:
            for place, id in enumerate(ack.ids):
                named = kept.named.get(id.position)
                words = ack.ack_sets[place] if place < len(ack.ack_sets) else ()
                if named is not None and (self._by_index or not words):
                    named.settle(id, words, ack)

    def _up_to(self, ack: Frame) -> None:
        """Settle up to an entry.

        A consumer that waits to be the active one is owed nothing, and a reader begins where its SUBSCRIBE says.
        """
        kept, kind = self._kept, self._subscription.kind_at(ack)
        is_sole = kind == "Exclusive" and self._subscription.durable
        last = max(id.position for id in ack.ids)
        covered = kept.uncovered[: bisect_right(kept.uncovered, last)]
        if kind in SHARED_TYPES or (len(ack.ids) > 1 and is_sole):
            kept.void |= {position: ack for position in covered if kept.named[position].left}
            return
        del kept.uncovered[: len(covered)]
        for position in covered:
            named = kept.named[position]
            # Said again as it should be: what was void is not owed any more.
            kept.void.pop(position, None)
            if position == last or len(ack.ids) > 1:
                del kept.named[position]
            else:
                named.left, named.last = 0, ack

    def _is_sent(self, member: Member, frame: Frame, position: Position) -> Says:
        kept, whole = self._kept, (1 << frame.messages) - 1
        if position not in kept.named:
            # A subscription may begin inside a batch, by a seek.
            kept.named[position] = _Named(whole, self._open(frame), member)
            insort(kept.uncovered, position)
        known = kept.named[position]
        known.holder = member
        if kept.void.pop(position, None) is not None:
            yield Exercised(frame)
        if known.last is not None and frame.t_ns - known.last.t_ns >= SETTLED_NS:
            yield from self._has_what_was_left(member, frame, known.left, known.last)

    def _open(self, frame: Frame) -> int:
        """Return a bit for each message that a MESSAGE has open."""
        words = frame.ack_sets[0] if frame.ack_sets else ()
        return (1 << frame.messages) - 1 & (bits_of(words) if words else -1)

    def _joins(self, member: Member) -> Says:
        """Judge what a joining member is owed.

        Here a broker that reads ACKs otherwise would send again what they settled.
        """
        if not self._subscription.durable:
            self._kept = _Kept()
        named = self._kept.named.values()
        yield from (Exercised(member.joined) for one in named if one.decisive is not None and not one.left)

    def _untaken(self) -> Says:
        """Judge whether an entry that only a void ACK covers still comes to a consumer that it is owed to."""
        for position, ack in self._kept.void.items() if not self._kept.odd else ():
            named = self._kept.named.get(position)
            members = self._subscription.members if named is not None and named.left else ()
            heirs = (one for one in members if named is not None and self._permits_left(one, named, ack))
            if named is not None and (heir := next(heirs, None)) is not None:
                yield breach(
                    "taken",
                    f"{self._subscription}: a cumulative ACK came at {ms(ack.t_ns)}, which acknowledges nothing on "
                    f"this type of subscription; expected entry {name_of(position)}, which it covers, to be sent to "
                    f"{heir}; it never was, with {self._permits_left(heir, named, ack)} permits left",
                    *(ack, heir.joined),
                )
                return

    def _permits_left(self, member: Member, named: _Named, ack: Frame) -> int:
        """Return the permits of a member that came after the ACK, and had them while no consumer had the entry."""
        left = named.holder.left
        if left is None or member.joined.seq < ack.seq:
            return 0
        return permits_left(self._timeline, member, left.t_ns + SETTLED_NS)

    def _has_what_was_left(self, member: Member, frame: Frame, left: int, last: Frame) -> Says:
        """Judge whether it has what was left. `last`: the last ACK of its messages."""
        size, open_ = frame.messages, self._open(frame)
        if open_ == left:
            yield Exercised(frame)
            return
        over, missing = open_ & ~left, left & ~open_
        yield breach(
            "settled-again" if not left else "member-again" if over else "member-lost",
            f"{self._subscription}: entry {name_of(frame.ids[0].position)} was sent to {member} at {ms(frame.t_ns)} "
            f"with messages {listed(indexes_of(open_))} of {size}; expected those that the ACK at {ms(last.t_ns)} and "
            f"earlier ones left unacknowledged: {listed(indexes_of(left)) if left else 'none'}"
            + (f"; {listed(indexes_of(missing))} can never be redelivered" if missing and not over else ""),
            *(last, frame),
        )
