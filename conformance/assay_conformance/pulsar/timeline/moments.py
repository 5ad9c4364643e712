"""Moments: what happened to the messages of one consumer, in the order of events.

| moment                | what happened                                                                               |
|-----------------------|---------------------------------------------------------------------------------------------|
| `Dispatched`          | the broker wrote a MESSAGE to it, or one came to it                                         |
| `Delivered`           | the application got a message                                                               |
| `ReceiveEnded`        | a receive of the application ended                                                          |
| `SettleCalled`        | the application called ack or nack for a message, and the client took the call              |
| `SettleCompleted`     | that call succeeded: the client knew of it by then                                          |
| `ReconsumeLaterCalled`| the application called reconsume_later for a message                                        |
| `RedeliverWritten`    | the client wrote a REDELIVER                                                                |
| `AckWritten`          | the client wrote an ACK of messages                                                         |
| `ArrivedAtBroker`     | an ACK or REDELIVER of it came to the broker                                                |
| `SessionOver`         | its session on a topic ended, or was moved by a seek: nothing held there can be requested   |
| `CloseCalled`         | the application closes it, or its client, which may stop its timers                         |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from assay_conformance.checks.consumption import REFUSED, from_client, plain_acks, sent_round
from assay_conformance.checks.tracker import Call, Tracker
from assay_conformance.model.event import Completion, Event, Frame, Invoke, Outcome, Received
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline.acks import session_for
from assay_conformance.pulsar.timeline.consumers import Consumer, ConsumerSession, ConsumerSessions, Entry, known_owner
from assay_conformance.pulsar.timeline.deliveries import CUMULATIVE, REDELIVER

W = TypeVar("W")


class Dispatched(NamedTuple):
    """A MESSAGE of a session. A fault may make two events of one: `from_sender` and `to_receiver` say which each is."""

    event: Frame
    session: ConsumerSession
    entry: Entry


class Delivered(NamedTuple):
    """A message that the application got, of an entry that is known."""

    event: Received
    entry: Entry

    @property
    def place(self) -> int:
        """In its batch; 0 without one."""
        return max(self.event.message_id.batch_index, 0)


class ReceiveEnded(NamedTuple):
    """The end of a receive. `is_short`: it succeeded with fewer messages than it requested."""

    event: Completion
    is_short: bool


class SettleCalled(NamedTuple):
    """An ack or nack of one message. A call for several messages that failed may have settled some of them, and counts
    as well. `session`: where the message came and can still be settled, if there is one."""

    event: Invoke
    call: Call
    session: ConsumerSession | None

    @property
    def is_nack(self) -> bool:
        """It is a nack, otherwise an ack."""
        return self.call.invoke.verb == "nack"

    @property
    def entry(self) -> Entry:
        """Of the message; a cumulative ack covers earlier ones, too."""
        return self.call.entry


class SettleCompleted(NamedTuple):
    """The success of such a call."""

    event: Completion
    call: Call
    session: ConsumerSession | None

    @property
    def is_nack(self) -> bool:
        """Or else it is an ack."""
        return self.call.invoke.verb == "nack"


class ReconsumeLaterCalled(NamedTuple):
    """A reconsume_later of one message. If the call `fails`, the client may request redelivery of the entry at once."""

    event: Invoke
    entry: Entry
    message: Received
    fails: bool


class RedeliverCall(NamedTuple):
    """A call of redeliver_all: what it requests leaves after it, and by `until_ns`."""

    invoke: Invoke
    until_ns: int

    def may_have_led_to(self, request: Frame) -> bool:
        """Return whether a REDELIVER requests everything, and came in time."""
        return not request.ids and self.invoke.seq < request.seq and request.t_ns <= self.until_ns


class RedeliverWritten(NamedTuple):
    """A REDELIVER. `named`: the entries that it names; empty if it requests everything. `called`: the calls of
    redeliver_all on its consumer before it."""

    event: Frame
    session: ConsumerSession
    named: frozenset[Entry]
    called: tuple[RedeliverCall, ...]

    @property
    def may_be_called_for(self) -> bool:
        """The application may have called for it, so that no nack and no time-out need explain it."""
        return any(call.may_have_led_to(self.event) for call in self.called)

    def is_called_after(self, event: Event) -> bool:
        """Return whether the application called for everything after an event: all that it held may be requested."""
        return any(call.invoke.seq > event.seq for call in self.called)

    def ends(self, entry: Entry) -> bool:
        """Return whether it requests this entry."""
        return entry.topic == self.session.topic and (not self.named or entry in self.named)


class AckWritten(NamedTuple):
    """An ACK, but for those that report a damaged message."""

    event: Frame
    session: ConsumerSession

    @property
    def is_cumulative(self) -> bool:
        """It acknowledges all up to its first id."""
        return self.event.ack_type == CUMULATIVE

    @property
    def reached(self) -> Entry:
        """The entry of its first id."""
        return _entry(self.session, self.event)


class ArrivedAtBroker(NamedTuple):
    """An ACK or REDELIVER that came to the broker, which may have closed the consumer by then."""

    event: Frame
    session: ConsumerSession

    @property
    def is_request(self) -> bool:
        """A REDELIVER, or else an ACK."""
        return self.event.command == REDELIVER


class SessionOver(NamedTuple):
    """The end of a session: SEEK, CLOSE_CONSUMER, UNSUBSCRIBE, or the end of the connection, the agent or the Case."""

    event: Event
    session: ConsumerSession

    @property
    def by_client(self) -> Frame | None:
        """The command by which the client ended or moved it; None for other ends."""
        return self.event if isinstance(self.event, Frame) and from_client(self.event) else None

    def ends(self, entry: Entry) -> bool:
        """Return whether this entry was held there."""
        return entry.topic == self.session.topic


class CloseCalled(NamedTuple):
    """A call that closes the consumer, and ends all that it holds."""

    event: Invoke

    def ends(self, entry: Entry) -> bool:
        """Return whether this ends an entry: a close ends every one."""
        return bool(entry)


Moment = (
    Dispatched
    | Delivered
    | ReceiveEnded
    | SettleCalled
    | SettleCompleted
    | ReconsumeLaterCalled
    | RedeliverWritten
    | AckWritten
    | ArrivedAtBroker
    | SessionOver
    | CloseCalled
)


def taken(waiting: dict[Entry, W], moment: Moment) -> list[tuple[Entry, W]]:
    """Remove from `waiting`, and return, the entries that this moment requests, or that can no longer be requested."""
    if not isinstance(moment, RedeliverWritten | SessionOver | CloseCalled):
        return []
    return [(entry, waiting.pop(entry)) for entry in [entry for entry in waiting if moment.ends(entry)]]


def moments(
    tracker: Tracker,
    sessions: ConsumerSessions,
    consumer: Consumer,
    calls: list[Call],
    receives: Iterable[ReceiveEnded],
    sent_rounds: Iterable[Invoke],
    redeliver_calls: Sequence[RedeliverCall],
) -> list[Moment]:
    """Return all moments of one consumer, in order of their events.

    `sent_rounds`: its calls to consume messages later; `redeliver_calls`: those of redeliver_all.
    """
    found: list[Moment] = [*_calls(tracker, calls)]
    for session in consumer.sessions:
        for moment in _session(sessions, session, redeliver_calls):
            if known_owner(session, moment.event) is consumer:
                found.append(moment)
    for message in tracker.received.get(consumer.handle, ()):
        entry = tracker.entries.get(message.seq)
        if entry is not None:
            found.append(Delivered(message, entry))
    for call in sent_rounds:
        fails = tracker.foresight.outcomes.get(call.op) is not Outcome.OK
        found += (ReconsumeLaterCalled(call, entry, message, fails) for message, entry in sent_round(tracker, call))
    found += receives
    if isinstance(consumer.closing, Invoke):
        found.append(CloseCalled(consumer.closing))
    return sorted(found, key=lambda moment: moment.event.seq)


def _session(
    sessions: ConsumerSessions, session: ConsumerSession, redeliver_calls: Sequence[RedeliverCall]
) -> Iterator[Moment]:
    for frame in sessions.frames(session, "MESSAGE"):
        if frame.dir is Direction.TO_CLIENT and frame.ids:
            yield Dispatched(frame, session, _entry(session, frame))
    for frame in sessions.frames(session, "ACK", REDELIVER):
        if from_client(frame) and frame.command == REDELIVER:
            called = tuple(call for call in redeliver_calls if call.invoke.seq < frame.seq)
            yield RedeliverWritten(frame, session, named_by(frame, session), called)
        elif from_client(frame) and plain_acks(frame):
            yield AckWritten(frame, session)
        if frame.at_broker:
            yield ArrivedAtBroker(frame, session)
    yield from (SessionOver(end, session) for end in sessions.ends(session))


def named_by(frame: Frame, session: ConsumerSession) -> frozenset[Entry]:
    """Return the entries whose ids are in a frame of a session."""
    return frozenset(Entry(session.topic, id.ledger, id.entry) for id in frame.ids)


def _entry(session: ConsumerSession, frame: Frame) -> Entry:
    return Entry(session.topic, frame.ids[0].ledger, frame.ids[0].entry)


def _calls(tracker: Tracker, calls: list[Call]) -> Iterator[Moment]:
    for call in calls:
        completion = call.operation.completion
        if len(tracker.calls[call.invoke.op]) > 1 or completion is None or completion.outcome not in REFUSED:
            yield SettleCalled(call.invoke, call, session_for(call, call.invoke))
        if completion is not None and completion.outcome is Outcome.OK:
            yield SettleCompleted(completion, call, session_for(call, completion))


def known_ns(call: Call, at: Event) -> int | None:
    """Return when the client certainly knew of a call that had succeeded by then."""
    return call.called_ns if call.operation.had_succeeded(at) else None
