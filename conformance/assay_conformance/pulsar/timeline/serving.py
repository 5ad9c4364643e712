"""How a broker serves its subscriptions: one pass over its frames, which records who joined, what was sent, and what
settled it."""

from __future__ import annotations

from itertools import chain
from math import inf
from typing import Final

from assay_conformance.checks.base import View
from assay_conformance.history.events import Events, in_order
from assay_conformance.judging.ascending import Ascending
from assay_conformance.ledger.clauses import SHARED_TYPES
from assay_conformance.model.event import Closed, ClosedBy, Event, Frame, Position
from assay_conformance.model.fault import Cut, CutHow
from assay_conformance.pulsar.timeline.consumers import ConsumerSession, ConsumerSessions
from assay_conformance.pulsar.timeline.deliveries import CUMULATIVE, REDELIVER, Deliveries, Delivery
from assay_conformance.pulsar.timeline.subscriptions import DEFAULT_KIND, Acked, Member, SubscribeAnswered, Subscription

SEEN: Final = ("SUBSCRIBE", "SUCCESS", "ERROR", "MESSAGE", "ACK", REDELIVER, "CLOSE_CONSUMER", "SEEK", "UNSUBSCRIBE")


def subscriptions(view: View, events: Events, sessions: ConsumerSessions, deliveries: Deliveries) -> list[Subscription]:
    """Return all subscriptions of the attempt, in order of their first SUBSCRIBE.

    Notes on each delivery what settled it.
    """
    return _Service(view, sessions, deliveries).through(events)


class _Service:
    """One pass over the frames of the broker."""

    def __init__(self, view: View, sessions: ConsumerSessions, deliveries: Deliveries) -> None:
        cuts = [fault.action for fault in view.case.faults if isinstance(fault.action, Cut)]
        self._hidden = any(cut.how is CutHow.BLACKHOLE for cut in cuts)
        self._sessions, self._deliveries = sessions, deliveries
        self._found: list[Subscription] = []
        self._current: dict[tuple[str, str], Subscription] = {}
        self._asked: dict[tuple[int, int], SubscribeAnswered] = {}
        self._out: dict[int, Ascending[Position, Delivery]] = {}
        """Of each member, what it holds."""
        self._unacked: dict[int, Ascending[Position, Delivery]] = {}
        """Of each subscription, what was sent and is not acknowledged."""
        self._holders: dict[tuple[int, Position], list[Member]] = {}
        """Subscription and entry -> members that it was sent to since it was settled last."""
        self._last_end: dict[int, float] = {}
        """Of each subscription, the last end of a member."""
        self._on: dict[int, list[tuple[Subscription, Member]]] = {}
        """Connection -> the members that were admitted on it."""
        self._refused: frozenset[tuple[int, int | None]] = frozenset()
        """Requests that the broker answered with an error: connection and number."""

    def through(self, events: Events) -> list[Subscription]:
        errors = (one for one in events.frames("ERROR") if one.at_broker)
        self._refused = frozenset((one.conn, one.request_id) for one in errors)
        seen: list[Event] = [*(one for one in events.frames(*SEEN) if one.at_broker), *events.of(Closed)]
        for event in in_order(seen):
            if isinstance(event, Closed):
                self._cut(event)
            elif event.command in ("SUCCESS", "ERROR"):  # type: ignore[union-attr]
                self._answered(event)  # type: ignore[arg-type]
            else:
                self._about(event)  # type: ignore[arg-type]
        return self._found

    def _about(self, frame: Frame) -> None:
        session = self._sessions.of(frame)
        if session is None:
            return
        if frame.command == "SUBSCRIBE":
            self._subscribe(session, frame)
            return
        subscription = self._current.get((session.topic, session.subscription))
        if subscription is None:
            return
        member = subscription.member_of(session)
        if frame.command == "ACK":
            self._ack(subscription, member, frame)
        elif frame.command in ("SEEK", "UNSUBSCRIBE"):
            if (frame.conn, frame.request_id) not in self._refused:
                subscription.over = frame
                del self._current[session.topic, session.subscription]
        elif member is not None and frame.command == "MESSAGE":
            self._sent(subscription, member, frame)
        elif member is not None and frame.command == REDELIVER:
            self._asked_again(member, frame)
        elif member is not None:
            member.left = member.left or frame

    def _subscribe(self, session: ConsumerSession, frame: Frame) -> None:
        if frame.request_id is None:
            return
        place = (session.topic, session.subscription)
        found = self._current.get(place)
        if found is None:
            found = Subscription(*place, durable=frame.fields.get("durable", True) is not False)
            self._current[place] = found
            self._found.append(found)
        if self._last_end.get(id(found), -1) < frame.seq:
            found.kinds.append((frame.seq, str(frame.fields.get("subType", DEFAULT_KIND))))
        asked = self._asked[frame.conn, frame.request_id] = SubscribeAnswered(session)
        found.asked.append(asked)

    def _answered(self, frame: Frame) -> None:
        asked = None if frame.request_id is None else self._asked.pop((frame.conn, frame.request_id), None)
        if asked is None:
            return
        asked.answer = frame
        subscription = self._current.get((asked.session.topic, asked.session.subscription))
        if subscription is not None and not asked.refused:
            self._admit(subscription, Member(asked.session, frame))

    def _admit(self, subscription: Subscription, member: Member) -> None:
        subscription.admit(member)
        self._on.setdefault(member.session.conn, []).append((subscription, member))
        end = inf if member.session.ended is None else member.session.ended.seq
        self._last_end[id(subscription)] = max(end, self._last_end.get(id(subscription), end))

    def _sent(self, subscription: Subscription, member: Member, frame: Frame) -> None:
        delivery = self._deliveries.of_frame.get(frame.seq)
        if delivery is not None:
            member.deliveries.append(delivery)
            subscription.deliveries.append(delivery)
            self._out.setdefault(id(member), Ascending()).put(delivery.position, delivery)
            self._holders.setdefault((id(subscription), delivery.position), []).append(member)
            delivery.is_repeat = delivery.position in self._unacked.get(id(subscription), ())
            if delivery.position not in subscription.acked:
                self._unacked.setdefault(id(subscription), Ascending()).put(delivery.position, delivery)

    def _ack(self, subscription: Subscription, member: Member | None, ack: Frame) -> None:
        """Apply an ACK. One that crosses the broker's CLOSE_CONSUMER names a consumer that is gone, and has no effect;
        nor has a cumulative one that names several entries, or comes from one of several consumers. Whether one has an
        effect that comes before the answer to its consumer's SUBSCRIBE is not known.
        """
        if not (_is_waiting(subscription, ack) if member is None else member.takes_acks(ack)):
            return
        cumulative = ack.ack_type == CUMULATIVE
        if cumulative and (subscription.kind in SHARED_TYPES or len(ack.ids) != 1):
            return
        lives, sets = member is not None and member.lives(ack), ack.ack_sets
        for number, named in enumerate(ack.ids):
            if cumulative:
                waiting = (self._unacked.get(id(subscription)), self._out.get(id(member)))
                before = (one.keys_before(named.position) for one in waiting if one is not None)
                for position in dict.fromkeys(chain.from_iterable(before)):
                    self._settle(subscription, position, ack, whole=lives)
            whole = lives and not (number < len(sets) and sets[number])
            self._settle(subscription, named.position, ack, whole=whole)

    def _settle(self, subscription: Subscription, position: Position, ack: Frame, *, whole: bool) -> None:
        """Settle an entry. One that was acknowledged may have been sent again: the first ACK was lost, or ended with
        its connection.
        """
        unacked = self._unacked.get(id(subscription))
        last = None if unacked is None else unacked.pop(position, None)
        if whole and last is not None:
            subscription.acked[position] = Acked(last, ack)
        holders = self._holders.pop((id(subscription), position), ())
        held = (self._out[id(member)].pop(position, None) for member in holders)
        for delivery in (last, *held):
            if delivery is not None:
                delivery.settled = delivery.settled or ack

    def _asked_again(self, member: Member, frame: Frame) -> None:
        out = self._out.get(id(member)) or Ascending()
        for position in [named.position for named in frame.ids] or list(out):
            delivery = out.pop(position, None)
            if delivery is not None:
                delivery.given_back = frame

    def _cut(self, closed: Closed) -> None:
        if self._hidden and closed.by is ClosedBy.CLIENT:
            return
        for subscription, member in self._on.get(closed.conn, ()):
            if subscription.over is None:
                member.left = member.left or closed


def _is_waiting(subscription: Subscription, ack: Frame) -> bool:
    """Return whether a consumer on its connection has no answer yet."""
    return any(one.answer is None and one.session.conn == ack.conn for one in subscription.asked)
