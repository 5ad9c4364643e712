"""Permits: what a consumer granted on one connection, and what messages used, as one end of the connection saw both."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple

from assay_conformance.checks.base import View
from assay_conformance.checks.consumption import bits_of, number_in_force
from assay_conformance.model.event import Event, Frame
from assay_conformance.model.topic_names import is_partition
from assay_conformance.pulsar.timeline.consumers import Consumer, ConsumerSession, ConsumerSessions, known_owner


def charged(frame: Frame) -> int:
    """Return how many permits a MESSAGE costs: one for each message, except those that its ack_set filters out."""
    count, words = frame.messages, frame.ack_sets[0] if frame.ack_sets else ()
    return (bits_of(words) & (1 << count) - 1).bit_count() if words else count


def queue_of(view: View, session: ConsumerSession) -> int | None:
    """Return how many messages the receiver queue of a session holds, None where that is not known.

    Clients divide the queue among several topics or partitions in different ways, and a paused consumer does not fill
    it.
    """
    consumer = session.consumer
    if consumer is None or len(consumer.topics) != 1 or is_partition(session.topic) or consumer.paused:
        return None
    return _size_of_queue(view, consumer)


def _size_of_queue(view: View, consumer: Consumer) -> int | None:
    """Return the size of the queue; None for 0, and where a batch receive may take more than it holds.

    Java's builder enlarges it then.
    """
    size = number_in_force(view, consumer, "receiver_queue_size")
    return size if size and size >= (number_in_force(view, consumer, "batch_receive_max_messages") or 0) else None


def account_of(view: View, sessions: ConsumerSessions, session: ConsumerSession) -> PermitAccount | None:
    """Return the account of a session as its client keeps it, from SUCCESS on until the consumer pauses.

    None where it was not admitted, or where it is not known how much its queue holds.
    """
    admitted = session.admitted
    consumer = None if admitted is None else known_owner(session, admitted)
    if admitted is None or consumer is None or len(consumer.topics) != 1 or is_partition(session.topic):
        return None
    queue = _size_of_queue(view, consumer)
    cuts: list[Event] = [consumer.paused] if consumer.paused is not None else []
    cuts += [] if session.known_until is None else [session.known_until[1]]
    cut_off = min(cuts, key=lambda cut: cut.seq, default=None)
    if not queue or (cut_off is not None and cut_off.seq < admitted.seq):
        return None
    account = PermitAccount(session, consumer, (), queue, admitted, cut_off)
    seen = (frame for frame in sessions.frames(session, "FLOW", "MESSAGE") if frame.seq > admitted.seq)
    account.frames = [frame for frame in seen if frame.at_client and account.holds(frame)]
    return account


def client_account(sessions: ConsumerSessions, session: ConsumerSession) -> PermitAccount:
    """Return the account of a session as its client keeps it, whatever its queue, from SUBSCRIBE on."""
    consumer = known_owner(session, session.request)
    seen = (frame for frame in sessions.frames(session, "FLOW", "MESSAGE") if frame.at_client)
    return PermitAccount(session, consumer, [one for one in seen if known_owner(session, one) is consumer], 0)


def broker_account(sessions: ConsumerSessions, session: ConsumerSession) -> PermitAccount:
    """Return the account of a session as its broker keeps it, from SUBSCRIBE on."""
    frames = [frame for frame in sessions.frames(session, "FLOW", "MESSAGE") if frame.at_broker]
    return PermitAccount(session, session.consumer, frames, 0)


class Balance(NamedTuple):
    """Where an account stands. `filtered`: messages that ack_sets took out of batches; they were not charged.
    `garbled`: a batch came whose checksum does not match, so that its cost is not known."""

    granted: int = 0
    charged: int = 0
    filtered: int = 0
    last_filtered: Frame | None = None
    last_message: Frame | None = None
    garbled: bool = False

    @property
    def available(self) -> int:
        """Available permits."""
        return self.granted - self.charged

    @property
    def messages(self) -> int:
        """All that came, those that ack_sets took out among them."""
        return self.charged + self.filtered

    def after(self, frame: Frame) -> Balance:
        """Return the balance after a FLOW or a MESSAGE."""
        if frame.command == "FLOW":
            return self._replace(granted=self.granted + (frame.permits or 0))
        cost, size = charged(frame), frame.messages
        return Balance(
            self.granted,
            self.charged + cost,
            self.filtered + size - cost,
            frame if cost < size else self.last_filtered,
            frame,
            self.garbled or (size > 1 and frame.intact is False),
        )


class AvailablePermits(NamedTuple):
    """How many permits were available at a moment, and the FLOW since which some had been, without interruption."""

    available: int
    since: Frame | None


class Grant(NamedTuple):
    """A FLOW, where it stands among the frames of its account, and the balance with it."""

    account: PermitAccount
    frame: Frame
    place: int
    balance: Balance

    @property
    def permits(self) -> int:
        """How many it grants."""
        return self.frame.permits or 0


@dataclass(eq=False)
class PermitAccount:
    """Of one session: its FLOWs and MESSAGEs as one end of the connection saw them, in order. `queue`: the size of the
    receiver queue, 0 where that is not known. `cut_off`: the event from which on the account is not known, as after a
    fault, or with an unknown consumer."""

    session: ConsumerSession
    consumer: Consumer | None
    frames: Sequence[Frame]
    queue: int
    admitted: Frame | None = None
    cut_off: Event | None = None

    def holds(self, event: Event) -> bool:
        """Return whether an event came before it was cut off."""
        return self.cut_off is None or event.seq < self.cut_off.seq

    @property
    def refill(self) -> int:
        """Half the queue, as generously as any client rounds it."""
        return max(1, -(-self.queue // 2))

    @cached_property
    def grants(self) -> list[Grant]:
        """Every FLOW, in order."""
        steps = enumerate(_balances(Balance(), self.frames))
        return [Grant(self, frame, place, balance) for place, (frame, balance) in steps if frame.command == "FLOW"]

    @cached_property
    def available_before(self) -> dict[int, AvailablePermits]:
        """Number of a MESSAGE -> the permits available before it."""
        found = zip(self.frames, chain([AvailablePermits(0, None)], _supplies(self.frames)), strict=False)
        return {frame.seq: supply for frame, supply in found if frame.command == "MESSAGE"}

    @property
    def left(self) -> AvailablePermits:
        """The permits available when its session ends: a FLOW that crosses the broker's CLOSE_CONSUMER reaches no
        consumer."""
        frames = [one for one in self.frames if one.command == "MESSAGE" or not self.session.had_ended(one)]
        *_, last = AvailablePermits(0, None), *_supplies(frames)
        return last

    @property
    def is_return(self) -> bool:
        """Its consumer had been subscribed to this topic before."""
        sessions = self.consumer.sessions if self.consumer is not None else [self.session]
        earlier = sessions[: sessions.index(self.session)]
        return any(one.admitted is not None and one.topic == self.session.topic for one in earlier)

    @property
    def is_first(self) -> bool:
        """It is the first session of its consumer, on any topic."""
        return self.consumer is not None and self.consumer.sessions[0] is self.session

    @property
    def handle(self) -> int:
        """Of its consumer."""
        return -1 if self.consumer is None else self.consumer.handle

    @property
    def first(self) -> Grant | None:
        """The first of them."""
        return self.grants[0] if self.grants else None

    def at(self, event: Event) -> Balance:
        """Return the balance at an event."""
        before = bisect_right(self.grants, event.seq, key=lambda grant: grant.frame.seq)
        found, place = Balance(), -1
        if before:
            found, place = self.grants[before - 1].balance, self.grants[before - 1].place
        for frame, balance in _balances(found, islice(self.frames, place + 1, None)):
            if frame.seq > event.seq:
                break
            found = balance
        return found


def _supplies(frames: Iterable[Frame]) -> Iterator[AvailablePermits]:
    """Yield the available permits after each frame: fewer than 0 after a batch of more messages than permits."""
    since = None
    for frame, balance in _balances(Balance(), frames):
        since = None if balance.available <= 0 else since or frame
        yield AvailablePermits(balance.available, since)


def _balances(balance: Balance, frames: Iterable[Frame]) -> Iterator[tuple[Frame, Balance]]:
    for frame in frames:
        balance = balance.after(frame)
        yield frame, balance
