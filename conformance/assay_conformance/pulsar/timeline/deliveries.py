"""Deliveries: every MESSAGE, from the broker that wrote it to what settled it. dispatched -> arrived -> delivered ->
acked or nacked by the application -> ACK written -> ACK arrived, or redelivery requested; and the next time that its
entry was sent to a consumer of the subscription.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay_conformance.checks.consumption import from_client, plain_acks, to_client
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, Tracker
from assay_conformance.history.events import Events
from assay_conformance.judging.ascending import Ascending
from assay_conformance.model.event import Frame, Position, Received
from assay_conformance.pulsar.timeline.consumers import Consumer, ConsumerSessions, known_consumer, known_owner

REDELIVER: Final = "REDELIVER_UNACKNOWLEDGED_MESSAGES"
CUMULATIVE: Final = "Cumulative"


@dataclass(slots=True, eq=False)
class Delivery:
    """One MESSAGE and what happened to it. Its `entry` may hold several messages.

    `received`: its messages as the application got them; those of a copy that came before may be among them.
    `calls`: acks and nacks of the application that name one of these. (Cumulative ones of later messages:
    `Timeline.calls_about`.)
    """

    session: ConsumerSession
    frame: Frame
    entry: Entry
    received: tuple[Received, ...] = ()
    calls: tuple[Call, ...] = ()
    acks: tuple[Frame, ...] = ()
    """ACKs that the client wrote: those that name its entry, and cumulative ones of a later entry."""
    asked_again: Frame | None = None
    """The first REDELIVER that the client wrote which names its entry, or everything."""
    settled: Frame | None = None
    """The first ACK at the broker that names it, or a later one cumulatively."""
    given_back: Frame | None = None
    """The first REDELIVER of its consumer at the broker which names its entry, or everything."""
    is_repeat: bool = False
    """Its entry had been sent to a consumer of its subscription, and not acknowledged by then."""
    next: Delivery | None = None
    """The same entry, sent to a consumer of its subscription once more."""

    @property
    def dispatched(self) -> bool:
        """Whether the broker wrote it."""
        return self.frame.at_broker

    @property
    def came(self) -> bool:
        """Whether it was written to the client."""
        return self.frame.to_receiver

    @property
    def position(self) -> Position:
        """Of its entry."""
        return self.frame.ids[0].position

    @property
    def consumer(self) -> Consumer:
        """Its consumer; raises `UnknownError` if that is unknown."""
        return known_consumer(self.session, self.frame)

    def is_out(self, seq: int) -> bool:
        """Return whether it was unacknowledged at event `seq`: sent, neither acknowledged nor requested again, as the
        broker saw it.
        """
        ends = (self.settled, self.given_back)
        return self.frame.seq < seq and not any(end is not None and end.seq < seq for end in ends)


Owner = int | tuple[int, int]
"""A consumer's handle; of one that is not known its connection and id there."""


class Deliveries:
    """All MESSAGEs that name an entry, in order, and where each of the application's messages came from."""

    def __init__(self, events: Events, sessions: ConsumerSessions, tracker: Tracker) -> None:
        self.all: list[Delivery] = []
        self.of_frame: dict[int, Delivery] = {}
        """By the number of the MESSAGE."""
        self.of_received: dict[int, Delivery] = {}
        """By the number of the Received event."""
        self._sessions = sessions
        self._copies: dict[tuple[Owner, Entry], list[Delivery]] = {}
        self._open: dict[tuple[Owner, str], Ascending[Entry, Delivery]] = {}
        """Owner and topic -> the deliveries that a cumulative ACK, or a redelivery request for everything, would
        cover."""
        last: dict[tuple[str, Entry], Delivery] = {}
        for frame in events.frames("MESSAGE", "ACK", REDELIVER):
            session = sessions.of(frame)
            if session is None:
                continue
            owner = self._owner(session, frame)
            if frame.command == "MESSAGE":
                self._sent(session, owner, frame, last)
            elif from_client(frame) and frame.command == REDELIVER:
                self._asked(session, owner, frame)
            elif from_client(frame) and plain_acks(frame):
                self._acked(session, owner, frame)
        self._note_received(tracker)

    def copies(self, consumer: Consumer, entry: Entry) -> list[Delivery]:
        """Return every time that an entry was sent to a consumer, in order."""
        return self._copies.get((consumer.handle, entry), [])

    @staticmethod
    def _owner(session: ConsumerSession, frame: Frame) -> Owner:
        consumer = known_owner(session, frame)
        return (session.conn, session.consumer_id) if consumer is None else consumer.handle

    def _sent(
        self, session: ConsumerSession, owner: Owner, frame: Frame, last: dict[tuple[str, Entry], Delivery]
    ) -> None:
        if not frame.ids:
            return
        id = frame.ids[0]
        entry = Entry(session.topic, id.ledger, id.entry)
        delivery = Delivery(session, frame, entry)
        before = last.get((session.subscription, entry))
        if before is not None:
            before.next = delivery
        last[session.subscription, entry] = self.of_frame[frame.seq] = delivery
        self.all.append(delivery)
        if to_client(frame):
            self._copies.setdefault((owner, entry), []).append(delivery)
            self._open.setdefault((owner, session.topic), Ascending()).put(entry, delivery)

    def _asked(self, session: ConsumerSession, owner: Owner, frame: Frame) -> None:
        """Note a redelivery request. One without ids names everything of the consumer's topic. A delivery is requested
        once, by the first request that covers it.
        """
        there = self._open.get((owner, session.topic), Ascending())
        named = {Entry(session.topic, id.ledger, id.entry) for id in frame.ids} or set(there)
        for entry in named:
            copies = self._copies.get((owner, entry))
            if copies:
                copies[-1].asked_again = copies[-1].asked_again or frame
                there.pop(entry, None)

    def _acked(self, session: ConsumerSession, owner: Owner, frame: Frame) -> None:
        there = self._open.get((owner, session.topic), Ascending())
        for id in frame.ids:
            entry = Entry(session.topic, id.ledger, id.entry)
            named = [*self._copies.get((owner, entry), ())[-1:]]
            if frame.ack_type == CUMULATIVE:
                named += [there.pop(earlier) for earlier in there.keys_before(entry)]
            for delivery in named:
                delivery.acks = (*delivery.acks, frame)

    def _note_received(self, tracker: Tracker) -> None:
        for handle, received in tracker.received.items():
            for message in received:
                entry = tracker.entries.get(message.seq)
                delivery = None if entry is None else _before(self._copies.get((handle, entry), ()), message)
                if delivery is not None:
                    delivery.received = (*delivery.received, message)
                    self.of_received[message.seq] = delivery
        for call in _calls(tracker):
            delivery = self.of_received.get(call.message.seq)
            if delivery is not None:
                delivery.calls = (*delivery.calls, call)


def _before(copies: Sequence[Delivery], message: Received) -> Delivery | None:
    """Return the last copy that had come, of those with its redelivery count that were not delivered yet if there are
    any; `copies` are in order.

    Another copy may come while this one waits for the application.
    """
    place = bisect_left(copies, message.seq, key=lambda copy: copy.frame.seq)
    if not place:
        return None
    last, count = copies[place - 1], message.redelivery_count
    if count is None or _counted(last) == count:
        return last
    waited = (copy for copy in reversed(copies[:place]) if _counted(copy) == count and not _had(copy, message))
    return next(waited, last)


def _had(copy: Delivery, message: Received) -> bool:
    """Return whether a message was delivered of a copy."""
    return any(one.message_id == message.message_id for one in copy.received)


def _counted(copy: Delivery) -> int:
    return copy.frame.redelivery_count or 0


def _calls(tracker: Tracker) -> Iterator[Call]:
    return (call for calls in tracker.calls.values() for call in calls)
