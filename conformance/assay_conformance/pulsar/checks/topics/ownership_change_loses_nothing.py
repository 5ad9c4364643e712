"""A change of the owning broker loses and reorders nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, in_force, is_torn, late, to_client
from assay_conformance.checks.loading import BrokerEnds
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import ConsumerSession, OpenedConsumer, Operation, ProducerSession
from assay_conformance.model.event import (
    Closed,
    ClosedBy,
    Completion,
    Event,
    Fired,
    Frame,
    Invoke,
    Outcome,
    Received,
    Stepped,
)
from assay_conformance.model.payload import is_identified
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.topics._shut_out import ShutOutCheck

_ORDERED_TYPES = ("exclusive", "failover")
"""Subscription types that deliver a topic in order."""


@dataclass(slots=True)
class _Read:
    """What one consumer received from one producer."""

    numbers: set[int] = field(default_factory=set)
    furthest: Received | None = None


class OwnershipChangeLosesNothing(TimedCheck, ShutOutCheck):
    """After the broker closed the producers and consumers of a topic, or ended, everything that was reported as sent is
    received, in the order in which it was sent.

    Judged are unpartitioned topics; consumers that are alone on an exclusive or failover subscription from its
    beginning, and neither nacked nor called seek; and producers that send in order. Not judged after a fault that
    damaged or dropped frames of either: what was lost is redelivered with a later connection, and lost permits are
    granted with the next one. Nor after a final error for the topic, nor after a lost or damaged look-up, whose answer
    the client may wait for. A consumer that is closed because its subscription was sought was not closed by a change of
    owner.
    """

    requirement = RequirementId("topics.ownership-change-loses-nothing")
    needs = (Trait.LET_GO,)

    def start(self) -> None:
        self._ends = BrokerEnds(self.view.case)
        self._moved: set[str] = set()
        self._moved_since: dict[int, Event] = {}
        self._reads: dict[tuple[int, int], _Read] = {}
        self._unordered: set[int] = set()
        self._seeks: dict[tuple[str, str], Frame] = {}
        """(topic, subscription) -> its last SEEK."""
        self._last: dict[int, Operation] = {}
        self._first_send = 1 << 62
        self._may_wait = False
        self._cut_ns = 0
        self._latest_ns: dict[int, int] = {}
        """Consumer -> when it last received a message."""

    @on(Closed)
    def connection_cut(self, event: Closed) -> None:
        """A cut gives the client its time to reconnect again."""
        if event.by is ClosedBy.FAULT:
            self._cut_ns = event.t_ns

    @on(Frame, "CLOSE_PRODUCER", "CLOSE_CONSUMER")
    def closed_by_broker(self, event: Frame) -> None:
        if not to_client(event):
            return
        session = self.tracker.producer_of(event) or self.tracker.consumer_of(event)
        if session is not None and not self._was_sought(session):
            self._moves(session.topic, event)

    @on(Frame, "SEEK")
    def sought(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None:
            self._seeks[session.topic, session.subscription] = event

    def _was_sought(self, session: ProducerSession | ConsumerSession) -> bool:
        """Whether its subscription was sought after it registered, for which a broker closes all of its consumers."""
        if isinstance(session, ProducerSession):
            return False
        seek = self._seeks.get((session.topic, session.subscription))
        return seek is not None and seek.seq > session.request.seq

    @on(Stepped)
    @on(Fired)
    def broker_ended(self, event: Stepped | Fired) -> None:
        """The clients of such a broker see only the end of their connections."""
        if self._ends.see(event):
            for topic in self.view.case.topology.topics:
                self._moves(topic.name, event)

    def _moves(self, topic: str, event: Event) -> None:
        self._moved.add(topic)
        for handle, consumer in self.tracker.opened_consumers.items():
            if topic in consumer.topics:
                self._moved_since.setdefault(handle, event)

    @on(Frame, "PARTITIONED_METADATA", "LOOKUP", "PARTITIONED_METADATA_RESPONSE", "LOOKUP_RESPONSE")
    def lookup_lost(self, event: Frame) -> None:
        self._may_wait = self._may_wait or is_torn(event)

    @on(Invoke, "nack", "seek")
    def reorders(self, event: Invoke) -> None:
        self._unordered.add(event.handle or 0)

    @on(Invoke, "send")
    def send_called(self, event: Invoke) -> None:
        self._first_send = min(self._first_send, event.seq)
        if {"deliver_after_ms", "deliver_at_ms", "sequence_id"} & event.args.keys():
            self._unordered.add(event.handle or 0)

    @on(Frame, "MESSAGE", "FLOW")
    def frame_lost(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if is_torn(event) and session is not None and session.consumer is not None:
            self._unordered.add(session.consumer.handle)

    @on(Received)
    def received(self, event: Received) -> None:
        self._latest_ns[event.handle] = event.t_ns
        identity = self.tracker.own(event.identity)
        if identity is None:
            return
        read = self._reads.setdefault((event.handle, identity.handle), _Read())
        earlier, first = read.furthest, identity.number not in read.numbers
        read.numbers.add(identity.number)
        if earlier is None or earlier.identity is None or identity.number > earlier.identity.number:
            read.furthest = event
        elif first and self._has_moved(event.handle) and self._judged(event.handle) and self._in_order(identity.handle):
            self.breach(
                "reordered",
                f"consumer {event.handle} received message {identity.number} of producer {identity.handle} at "
                f"{ms(event.t_ns)} for the first time; expected it before message {earlier.identity.number}, which "
                f"came at {ms(earlier.t_ns)}; the topic's owner changed or its broker ended in between",
                earlier,
                event,
            )
        if first and event.handle in self._moved_since and self._judged(event.handle):
            del self._moved_since[event.handle]
            self.exercise(event)

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        if operation is not None and event.handle is not None:
            self._last[event.handle] = operation

    def finish(self) -> None:
        for handle, consumer in self.tracker.opened_consumers.items():
            receive = self._last.get(handle)
            topic = consumer.topics[0]
            if receive is not None and topic in self._moved - self.shut_out.keys() and self._judged(handle):
                self._missing(consumer, receive)
        super().finish()

    def _missing(self, consumer: OpenedConsumer, receive: Operation) -> None:
        """Judge the last receive, if it ended with fewer messages than it asked for and had enough time."""
        end, asked = receive.completion, int(receive.invoke.args.get("count", 1))
        short = end is not None and end.outcome is Outcome.OK and (end.count or 0) < asked
        if end is None or not short or self._may_wait or not self.view.is_dispatched_at_once(consumer.topics[0]):
            return
        since_ns = max(
            receive.invoke.t_ns, self._cut_ns, self._latest_ns.get(consumer.handle, 0), self._active_ns(consumer)
        )
        if not late("answer", since_ns, end.t_ns):
            return
        if consumer.invoke.seq > self._first_send:
            return
        for handle, opening in self.tracker.lines.openings.items():
            if opening.args.get("topic", consumer.topics[0]) != consumer.topics[0] or not self._in_order(handle):
                continue
            got = self._reads.get((consumer.handle, handle), _Read()).numbers
            for send in self.tracker.sends.get(handle, ()):
                if self._is_due(send, receive) and send.invoke.number not in got:
                    assert send.completion is not None
                    self.overdue(
                        "answer",
                        since_ns,
                        end.t_ns,
                        "lost",
                        f"message {send.invoke.number} of producer {handle} was reported as sent at "
                        f"{ms(send.completion.t_ns)}; then the topic's owner changed or its broker ended; expected "
                        f"consumer {consumer.handle} to receive it, and its last receive ended at {ms(end.t_ns)} "
                        "without it",
                        send.completion,
                        end,
                    )
                    return

    def _active_ns(self, consumer: OpenedConsumer) -> int:
        """When it was last admitted, which other consumers may have delayed. On a failover subscription the broker
        chooses the active consumer only after a delay."""
        ready_ns = max((session.ready.t_ns for session in consumer.sessions if session.ready is not None), default=0)
        fails_over = in_force(self.view, consumer, "subscription_type") == "failover"
        return ready_ns + (self.view.case.topology.settings.failover_delay_ms * MS if fails_over else 0)

    def _is_due(self, send: Operation, receive: Operation) -> bool:
        end = send.completion
        reported = end is not None and end.outcome is Outcome.OK and end.seq < receive.invoke.seq
        return reported and is_identified(send.invoke.size)

    def _has_moved(self, handle: int) -> bool:
        consumer = self.tracker.opened_consumers.get(handle)
        return consumer is not None and not self._moved.isdisjoint(consumer.topics)

    def _judged(self, handle: int) -> bool:
        consumer = self.tracker.opened_consumers.get(handle)
        if consumer is None or len(consumer.topics) != 1 or handle in self._unordered:
            return False
        if not consumer.sessions or consumer.sessions[-1].ready is None:
            return False  # It is not admitted, or its client got no answer.
        if self.tracker.foresight.outcomes.get(consumer.invoke.op) is not Outcome.OK:
            return False  # Its client gave up, and may have been admitted all the same.
        topic = self.view.case.topology.named(consumer.topics[0])
        alone = not any(
            other is not consumer and other.subscription == consumer.subscription
            for other in self.tracker.opened_consumers.values()
        )
        kind = in_force(self.view, consumer, "subscription_type") or "exclusive"
        return topic is not None and topic.persistent and not topic.partitions and alone and kind in _ORDERED_TYPES

    def _in_order(self, handle: int) -> bool:
        lines = self.tracker.lines
        torn = handle in lines.torn_sends or handle in lines.forged_sends or lines.forged_receipts
        keyed = self.view.producer_setting(handle, "batching_type") == "key_based"
        return handle in lines.openings and not torn and not keyed and handle not in self._unordered | lines.burst
