"""Ordering at the application: an Exclusive or Failover consumer hands messages over as they came, and a Key_Shared one
those of each key."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import CAME, Check, ms, on
from assay_conformance.checks.dispatches import sticky_key
from assay_conformance.checks.occasions import Subscribed
from assay_conformance.checks.tracker import ConsumerSession, OpenedConsumer
from assay_conformance.model.event import FORGED, Fate, Frame, MessageId, Position, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic

ORDERED = ("Exclusive", "Failover")

_PASSED = Fate.PASSED


@dataclass(slots=True)
class _Taken:
    """What a consumer handed over from one topic or partition, up to now. `returns`: how often it may still go back."""

    last: Received | None = None
    place: tuple[int, int, int] = (-1, -1, -1)
    returns: int = 0


@dataclass(slots=True)
class _Came(_Taken):
    """`came`: entry -> the MESSAGEs, by their place in the history, in which it first and last came."""

    came: dict[Position, tuple[int, int]] = field(default_factory=dict)

    def add(self, position: Position, seq: int) -> None:
        first, _ = self.came.get(position, (seq, seq))
        self.came[position] = (first, seq)

    def may_follow(self, later: Position, earlier: Position) -> bool:
        """Whether `earlier`, by its id, has come behind `later`: what came before it only was passed over."""
        first, last = self.came.get(later), self.came.get(earlier)
        return first is None or last is None or last[1] > first[0]


class DeliversInIdOrder(Check):
    """Ids grow from message to message of a partition, inside an entry by batch index.

    They may go back once for each reason to: a new registration, a redelivery or seek asked for, and a MESSAGE that the
    client was sent behind a later one; and to an entry only that came behind the one it is handed over after.
    """

    requirement = RequirementId("ordering.delivers-in-message-id-order")
    skips_plain = True

    def start(self) -> None:
        self._taken: dict[tuple[int, str], _Came] = {}
        self._furthest: dict[int, tuple[int, int]] = {}

    @on(Frame, "SUBSCRIBE")
    def subscribe(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if event.from_sender and session is not None and _is_again(session):
            self._may_return(session)

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES", "SEEK")
    def asked_again(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if event.from_sender and session is not None:
            self._may_return(session)

    @on(Frame, "MESSAGE", seen=CAME)
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not event.ids:
            return
        position, furthest = event.ids[0].position, self._furthest.get(session.request.seq)
        if session.consumer is not None:
            self._of(session.consumer, session.topic).add(position, event.seq)
        if furthest is None or position > furthest:
            self._furthest[session.request.seq] = position
            if event.fate is not _PASSED and event.fate in FORGED:
                self._may_return(session)
        else:
            self._may_return(session)

    @on(Received)
    def received(self, event: Received) -> None:
        consumer, entry = self.tracker.opened_consumers.get(event.handle), self.tracker.entries.get(event.seq)
        if consumer is None or entry is None or not self._is_ordered(consumer, entry.topic):
            return
        taken, id = self._of(consumer, entry.topic), event.message_id
        before, taken.last = taken.last, event
        furthest, taken.place = taken.place, (id.ledger, id.entry, id.batch_index)
        if before is None:
            return
        if taken.place > furthest:
            self.exercise(event)
        elif taken.returns and taken.may_follow(before.message_id.position, id.position):
            taken.returns -= 1
        else:
            self.breach(
                "delivered-out-of-order",
                f"consumer {consumer.handle} ({consumer.subscription}) handed over {_name(event.message_id)} of "
                f"{entry.topic} at {ms(event.t_ns)}, after {_name(before.message_id)} at {ms(before.t_ns)}; nothing "
                "had asked for it again",
                before,
                event,
            )

    def _may_return(self, session: ConsumerSession) -> None:
        if session.consumer is not None:
            self._of(session.consumer, session.topic).returns += 1

    def _of(self, consumer: OpenedConsumer, topic: str) -> _Came:
        place = (consumer.handle, topic)
        taken = self._taken.get(place)
        if taken is None:
            taken = self._taken[place] = _Came()
        return taken

    def _is_ordered(self, consumer: OpenedConsumer, topic: str) -> bool:
        session = consumer.latest.get(topic)
        return session is not None and session.request.fields.get("subType") in ORDERED


@dataclass(slots=True)
class _OfKey(_Taken):
    """The same of one key. `furthest`: the last entry that came on a session; `spent`: on how many of the reasons that
    its consumer had to begin anew it went back."""

    furthest: dict[int, Position] = field(default_factory=dict)
    spent: int = 0


@dataclass(slots=True)
class _Keyed:
    """One consumer and one topic or partition. `anew`: how often everything may come again."""

    keys: dict[str | bytes, _OfKey] = field(default_factory=dict)
    of: dict[Position, str | bytes] = field(default_factory=dict)
    anew: int = 0


class KeyHandedOverInOrder(Check):
    """Ids grow from message to message of a key. The key is that of the entry, by which the broker chose the consumer.

    They may go back once for each MESSAGE of the key that the client was sent again or behind a later one, and each
    time that its consumer begins anew: a new registration, a seek, everything asked for again. Which consumer gets a
    key, and in which order, is the broker's affair (`ordering.key-shared-keeps-order`). What a topic keeps nowhere
    has no id of its own.
    """

    requirement = RequirementId("ordering.key-delivered-in-order")
    needs = (Subscribed("Key_Shared"),)

    def start(self) -> None:
        self._keyed: dict[tuple[int, str], _Keyed] = {}
        self._kept = {topic.name for topic in self.view.case.topology.topics if topic.persistent}

    @on(Frame, "SUBSCRIBE", "SEEK", "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def begins_anew(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        keyed = self._of(session)
        if session is None or keyed is None or not event.from_sender:
            return
        if event.command == "SUBSCRIBE":
            keyed.anew += _is_again(session)
        elif event.command == "SEEK" or not event.ids:
            keyed.anew += 1

    @on(Frame, "MESSAGE", seen=CAME)
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        keyed, key = self._of(session), None if event.meta is None else sticky_key(event.meta)
        if session is None or keyed is None or key is None or not event.ids:
            return
        position, taken = event.ids[0].position, keyed.keys.setdefault(key, _OfKey())
        keyed.of[position] = key
        furthest = taken.furthest.get(session.request.seq)
        if furthest is None or position > furthest:
            taken.furthest[session.request.seq] = position
            taken.returns += event.fate in FORGED
        else:
            taken.returns += 1

    @on(Received)
    def received(self, event: Received) -> None:
        entry, id = self.tracker.entries.get(event.seq), event.message_id
        keyed = None if entry is None else self._keyed.get((event.handle, entry.topic))
        key = None if keyed is None else keyed.of.get(id.position)
        if keyed is None or key is None:
            return
        taken = keyed.keys[key]
        before, taken.last = taken.last, event
        furthest, taken.place = taken.place, (id.ledger, id.entry, id.batch_index)
        if before is None:
            return
        if taken.place > furthest:
            self.exercise(event)
        elif taken.returns:
            taken.returns -= 1
        elif taken.spent < keyed.anew:
            taken.spent += 1
        else:
            self.breach(
                "key-handed-over-out-of-order",
                f"consumer {event.handle} handed over {_name(id)} of key {key!r} at {ms(event.t_ns)}, after "
                f"{_name(before.message_id)} of that key at {ms(before.t_ns)}; nothing of the key had come again",
                before,
                event,
            )

    def _of(self, session: ConsumerSession | None) -> _Keyed | None:
        if session is None or session.consumer is None or session.request.fields.get("subType") != "Key_Shared":
            return None
        if base_topic(session.topic) not in self._kept:
            return None
        return self._keyed.setdefault((session.consumer.handle, session.topic), _Keyed())


def _is_again(session: ConsumerSession) -> bool:
    """Its consumer asked for this topic before."""
    sessions = session.consumer.sessions if session.consumer is not None else []
    return sum(one.topic == session.topic for one in sessions) > 1


def _name(id: MessageId) -> str:
    return id.name + (f" message {id.batch_index}" if id.batch_index >= 0 else "")
