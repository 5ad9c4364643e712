"""Shared by the checks of seeks: each seek from its call to what is received after it.

Judged are consumers that are alone on their subscription of one unpartitioned topic, and seeks during which no receive
was pending: otherwise it is unknown which consumer moved the subscription, or when a message was received.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import ConsumerCheck, from_client
from assay_conformance.checks.tracker import ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Completion, Event, Frame, Invoke, Outcome, Received
from assay_conformance.model.fault import Direction


@dataclass(slots=True, eq=False)
class Sought:
    """One seek of one consumer. `command`: its SEEK; `closed`: the CLOSE_CONSUMER that the broker sent because of
    it."""

    consumer: OpenedConsumer
    invoke: Invoke
    old: ConsumerSession | None
    undisturbed: bool
    beside: bool = False
    """Whether another seek of the consumer was pending: then it is unknown to which of them frames belong."""
    command: Frame | None = None
    closed: Frame | None = None
    answered: Frame | None = None
    completion: Completion | None = None
    delivered: bool = False
    """Whether a message was received since."""
    prefetched: set[Entry] = field(default_factory=set)
    """Entries that had arrived and were not wholly received."""
    unsent: set[Entry] = field(default_factory=set)
    """Entries that the application acknowledged and whose ACK has not left yet."""

    @property
    def done(self) -> bool:
        return self.completion is not None and self.completion.outcome is Outcome.OK

    def sessions(self) -> Iterator[ConsumerSession]:
        """Yield the sessions in which the consumer subscribed again."""
        for session in self.consumer.sessions:
            if self.command is not None and session.request.seq > self.command.seq:
                yield session


class SeekCheck(ConsumerCheck):
    """Follows each seek from its call to what is received after it; `current` is the last one of a consumer."""

    needs = ((Invoke, "seek"),)

    def start(self) -> None:
        self.current: dict[int, Sought] = {}
        self._receiving: dict[int, set[int]] = {}

    # --- what subclasses judge ---

    def begun(self, seek: Sought) -> None:
        """Called when the seek is called."""

    def sought(self, seek: Sought, event: Completion) -> None:
        """Called when it ended successfully."""

    def received_after_seek(self, seek: Sought, event: Received) -> None:
        """Called for the first message, and later ones (`seek.delivered`), after a seek that ended successfully."""

    # --- following ---

    @on(Invoke, "seek")
    def seek_called(self, event: Invoke) -> None:
        consumer = None if event.handle is None else self.tracker.opened_consumers.get(event.handle)
        if consumer is None or len(consumer.topics) != 1:
            return
        quiet = not self._receiving.get(consumer.handle) and self._alone(consumer)
        before = self.current.get(consumer.handle)
        beside = before is not None and before.completion is None
        seek = Sought(consumer, event, consumer.live_on(consumer.topics[0]), quiet, beside)
        self.current[consumer.handle] = seek
        self.begun(seek)

    def _alone(self, consumer: OpenedConsumer) -> bool:
        others = [
            other
            for other in self.tracker.opened_consumers.values()
            if other is not consumer and other.subscription == consumer.subscription
        ]
        return not any(set(other.topics) & set(consumer.topics) for other in others)

    @on(Invoke, "open_consumer")
    def other_consumer_opened(self, event: Invoke) -> None:
        """From now on the other consumer may get the messages, and either may have written a SUBSCRIBE."""
        del event
        for seek in self.current.values():
            seek.undisturbed = seek.undisturbed and self._alone(seek.consumer)

    @on(Invoke, "receive")
    def receive_called(self, event: Invoke) -> None:
        if event.handle is None:
            return
        self._receiving.setdefault(event.handle, set()).add(event.op)
        seek = self.current.get(event.handle)
        if seek is not None and seek.completion is None:
            seek.undisturbed = False

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        self._receiving.get(event.handle or 0, set()).discard(event.op)

    @on(Frame, "SEEK")
    def seek_sent(self, event: Frame) -> None:
        seek = self._of(event)
        if seek is not None and from_client(event) and seek.command is None:
            seek.command = event

    @on(Frame, "CLOSE_CONSUMER")
    def sent_away(self, event: Frame) -> None:
        seek = self._of(event)
        if seek is not None and event.dir is Direction.TO_CLIENT and event.to_receiver and seek.command is not None:
            seek.closed = seek.closed or event

    def _of(self, event: Frame) -> Sought | None:
        session = self.tracker.consumer_of(event)
        consumer = session.consumer if session is not None else None
        seek = self.current.get(consumer.handle) if consumer is not None else None
        return seek if seek is not None and seek.old is session else None

    @on(Frame, "SUCCESS")
    def seek_answered(self, event: Frame) -> None:
        for seek in self.current.values():
            command = seek.command
            if command is None or not event.to_receiver:
                continue
            if (command.conn, command.request_id) == (event.conn, event.request_id):
                seek.answered = seek.answered or event

    @on(Completion, "seek")
    def seek_ended(self, event: Completion) -> None:
        seek = self.current.get(event.handle or 0)
        if seek is not None and seek.invoke.op == event.op:
            seek.completion = event
            if seek.done and seek.undisturbed:
                self.sought(seek, event)

    @on(Received)
    def received(self, event: Received) -> None:
        seek = self.current.get(event.handle)
        if seek is not None and seek.done and seek.undisturbed and self.is_of_its_topic(seek.consumer, event):
            self.received_after_seek(seek, event)
            seek.delivered = True

    def is_of_its_topic(self, consumer: OpenedConsumer, event: Received) -> bool:
        """Whether it is not from the consumer's retry letter topic, which it seeks as well."""
        entry = self.tracker.entries.get(event.seq)
        return entry is None or entry.topic == consumer.topics[0]

    def entry_of(self, consumer: OpenedConsumer, event: Received) -> Entry:
        return Entry(consumer.topics[0], event.message_id.ledger, event.message_id.entry)


def target_of(invoke: Invoke) -> str:
    if (time_ms := invoke.args.get("publish_time_ms")) is not None:
        return f"publish time {time_ms} ms"
    id = invoke.args.get("message_id")
    return "a message" if id is None else f"{id[0]}:{id[1]}" + (f" (index {id[3]})" if id[3] >= 0 else "")


def lost_position(consumer: OpenedConsumer, at: Invoke | Received, event: Event) -> bool:
    """Whether the consumer starts over where it began: the broker gets a time only once, so a subscription that is not
    durable loses it with its connection. It then subscribes once more than the seek itself requires."""
    durable = (consumer.invoke.args.get("config") or {}).get("durable", True)
    if durable or not isinstance(at, Invoke) or at.args.get("publish_time_ms") is None:
        return False
    return sum(at.seq < session.request.seq < event.seq for session in consumer.sessions) > 1
