"""Consumers without a queue: one permit for each message the application waits for, and again behind a reconnect.

Judged are consumers of one unpartitioned topic.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    ConsumerCheck,
    buries,
    entry_on,
    from_client,
    is_acked,
    late,
    number_in_force,
    plain_acks,
    to_client,
)
from assay_conformance.checks.flow.permits import charged
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.readers import is_reader
from assay_conformance.checks.tracker import ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Completion, Event, Frame, Invoke, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import is_partition


@dataclass(slots=True)
class _Wanted:
    """What the application of one consumer asked for and got. `waiting`: receives that have not ended."""

    asked: int = 0
    got: int = 0
    waiting: int = 0
    asked_ns: int = 0
    """When the last receive was asked for."""
    kept: Counter[Entry] = field(default_factory=Counter)
    """How many messages of an entry came and were not handed over."""


@dataclass(slots=True)
class _Granted:
    """Of one session. `got` is what the application had got before it; `lost` came garbled, or was reported as what
    nobody can read, so that it gets none of it. `read`: what else came, by its entry."""

    got: int
    permits: int = 0
    came: int = 0
    lost: int = 0
    read: dict[Entry, int] = field(default_factory=dict)


class ZeroQueueCheck(ConsumerCheck):
    needs = (Trait.NO_QUEUE,)

    def start(self) -> None:
        self._wanted: dict[int, _Wanted] = {}
        self._sessions: dict[int, _Granted] = {}

    def flowed(self, session: ConsumerSession, granted: _Granted, event: Frame) -> None:
        """A FLOW of a consumer without a queue; `granted` has it already."""

    def wanted(self, consumer: OpenedConsumer) -> _Wanted:
        return self._wanted.setdefault(consumer.handle, _Wanted())

    def granted(self, session: ConsumerSession | None) -> _Granted | None:
        consumer = session.consumer if session is not None else None
        if session is None or consumer is None or len(consumer.topics) != 1 or is_partition(session.topic):
            return None
        if number_in_force(self.view, consumer, "receiver_queue_size") != 0:
            return None
        return self._sessions.setdefault(session.request.seq, _Granted(self.wanted(consumer).got))

    @on(Invoke, "receive")
    def asks(self, event: Invoke) -> None:
        wanted = self._wanted.setdefault(event.handle or 0, _Wanted())
        wanted.asked += event.args.get("count", 0)
        wanted.waiting += 1
        wanted.asked_ns = event.t_ns

    @on(Completion, "receive")
    def has(self, event: Completion) -> None:
        self._wanted.setdefault(event.handle or 0, _Wanted()).waiting -= 1

    @on(Received)
    def gets(self, event: Received) -> None:
        wanted = self._wanted.setdefault(event.handle, _Wanted())
        wanted.got += 1
        if (entry := self.tracker.entries.get(event.seq)) is not None:
            wanted.kept[entry] -= 1

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        granted = self.granted(session)
        if session is None or granted is None or not to_client(event):
            return
        granted.came += charged(event)
        if session.consumer is not None and event.ids:
            self.wanted(session.consumer).kept[entry_on(session, event.ids[0])] += charged(event)
        if event.intact is False:
            granted.lost += charged(event)
        elif event.ids:
            granted.read[entry_on(session, event.ids[0])] = charged(event)

    @on(Frame, "ACK")
    def reported(self, event: Frame) -> None:
        """One that names a validation error says that its messages were thrown away."""
        session = self.tracker.consumer_of(event)
        granted = self.granted(session)
        if session is not None and granted is not None and from_client(event) and not plain_acks(event):
            granted.lost += sum(granted.read.pop(entry_on(session, id), 0) for id in event.ids)

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        granted = self.granted(session)
        if session is not None and granted is not None and from_client(event):
            granted.permits += event.permits or 0
            self.flowed(session, granted, event)


class PermitForReceive(ZeroQueueCheck):
    """Never more permits than messages the application has asked for, and one at a time.

    What comes again although the application has acknowledged it may be dropped, and so may what is buried, what was
    sought behind, and what a reader had read before: another permit follows for the receive that waits."""

    requirement = RequirementId("flow.zero-queue-permit-per-receive")

    def flowed(self, session: ConsumerSession, granted: _Granted, event: Frame) -> None:
        assert session.consumer is not None
        wanted = self.wanted(session.consumer)
        handle, at = session.consumer.handle, ms(event.t_ns)
        if granted.permits - granted.came > 1:
            self.breach(
                "more-than-one",
                f"consumer {handle} has no queue and granted {event.permits} permits at {at}; "
                f"{granted.permits - granted.came} are open then, expected one",
                session.request,
                event,
            )
        elif granted.got + granted.permits > wanted.asked + granted.lost + self._dropped(session, wanted):
            self.breach(
                "unasked",
                f"consumer {handle} has no queue and granted a permit at {at}, its {granted.permits}. on this "
                f"connection; its application had asked for {wanted.asked} messages in all, and had got {granted.got} "
                "of them before",
                session.request,
                event,
            )
        else:
            self.exercise(event)

    def _dropped(self, session: ConsumerSession, wanted: _Wanted) -> int:
        """How many of the messages that came may have been dropped for good."""
        return sum(count for entry, count in wanted.kept.items() if count > 0 and self._may_drop(session, entry))

    def _may_drop(self, session: ConsumerSession, entry: Entry) -> bool:
        consumer = session.consumer
        assert consumer is not None
        passed_over = (entry.ledger, entry.entry) in consumer.sought or is_reader(session)
        return passed_over or buries(self.view, consumer) or is_acked(self.tracker, consumer.handle, entry)


class WaitingAsksAgain(ZeroQueueCheck):
    """Behind a reconnect the permit of a receive that waits is granted again."""

    requirement = RequirementId("flow.zero-queue-renews-after-reconnect")

    def flowed(self, session: ConsumerSession, granted: _Granted, event: Frame) -> None:
        assert session.consumer is not None
        if granted.permits == event.permits and session.is_return and self.wanted(session.consumer).waiting:
            self.exercise(event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        granted, consumer = self.granted(session), session.consumer
        if granted is None or consumer is None or session.ready is None or granted.permits or not session.is_return:
            return
        until_ns = consumer.closing.t_ns if consumer.closing is not None else event.t_ns
        wanted = self.wanted(consumer)
        since_ns = max(session.ready.t_ns, wanted.asked_ns)
        if wanted.waiting and late("answer", since_ns, until_ns):
            self._silent(session, consumer, since_ns, until_ns, event)

    @on(Completion, "receive")
    def gave_up(self, event: Completion) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle or 0)
        session = consumer.live_on(consumer.topics[0]) if consumer is not None else None
        granted = self.granted(session)
        operation = self.tracker.operations.get(event.op)
        if consumer is None or session is None or granted is None or session.ready is None or operation is None:
            return
        waited = operation.invoke.seq < session.ready.seq and late("answer", session.ready.t_ns, event.t_ns)
        if waited and not granted.permits and not event.count and session.is_return:
            self._silent(session, consumer, session.ready.t_ns, event.t_ns, event)

    def _silent(
        self, session: ConsumerSession, consumer: OpenedConsumer, since_ns: int, until_ns: int, event: Event
    ) -> None:
        assert session.ready is not None
        self.overdue(
            "answer",
            since_ns,
            until_ns,
            "waits-without-permit",
            f"consumer {consumer.handle} has no queue, and its application waits for a message; it was subscribed "
            f"again at {ms(session.ready.t_ns)} and had granted no permit by {ms(until_ns)}",
            session.ready,
            event,
        )
