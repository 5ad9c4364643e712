"""What the checks of seeks share: each seek from its call to what is handed over behind it.

Judged are consumers alone on their subscription, of one unpartitioned topic, and seeks during which no receive was
under way: who else moves the subscription, or when a delivery was made, would be anybody's guess.
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
    """One seek of one consumer. `asked` is its SEEK, `closed` the CLOSE_CONSUMER that came for it."""

    consumer: OpenedConsumer
    invoke: Invoke
    old: ConsumerSession | None
    undisturbed: bool
    beside: bool = False
    """Another one of the consumer was under way: of which of both its frames are, nobody saw."""
    asked: Frame | None = None
    closed: Frame | None = None
    answered: Frame | None = None
    completion: Completion | None = None
    delivered: bool = False
    """Something was handed over since."""
    prefetched: set[Entry] = field(default_factory=set)
    """Entries that had come and were not all handed over."""
    unsent: set[Entry] = field(default_factory=set)
    """Entries acknowledged by the application and not on the wire yet."""

    @property
    def done(self) -> bool:
        return self.completion is not None and self.completion.outcome is Outcome.OK

    def sessions(self) -> Iterator[ConsumerSession]:
        """Where the consumer was subscribed again."""
        for session in self.consumer.sessions:
            if self.asked is not None and session.request.seq > self.asked.seq:
                yield session


class SeekCheck(ConsumerCheck):
    """Follows each seek from its call to what is handed over behind it; `current` is the last one of a consumer."""

    needs = ((Invoke, "seek"),)

    def start(self) -> None:
        self.current: dict[int, Sought] = {}
        self._receiving: dict[int, set[int]] = {}

    # --- what subclasses judge ---

    def begun(self, seek: Sought) -> None:
        """The call was made."""

    def sought(self, seek: Sought, event: Completion) -> None:
        """The call ended well."""

    def handed_over(self, seek: Sought, event: Received) -> None:
        """The first delivery, or a later one (`seek.delivered`), behind a seek that ended well."""

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
    def another_opened(self, event: Invoke) -> None:
        """From here on somebody else may get what is expected, and two may have written one SUBSCRIBE."""
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
        if seek is not None and from_client(event) and seek.asked is None:
            seek.asked = event

    @on(Frame, "CLOSE_CONSUMER")
    def sent_away(self, event: Frame) -> None:
        seek = self._of(event)
        if seek is not None and event.dir is Direction.TO_CLIENT and event.to_receiver and seek.asked is not None:
            seek.closed = seek.closed or event

    def _of(self, event: Frame) -> Sought | None:
        session = self.tracker.consumer_of(event)
        consumer = session.consumer if session is not None else None
        seek = self.current.get(consumer.handle) if consumer is not None else None
        return seek if seek is not None and seek.old is session else None

    @on(Frame, "SUCCESS")
    def seek_answered(self, event: Frame) -> None:
        for seek in self.current.values():
            asked = seek.asked
            if asked is None or not event.to_receiver:
                continue
            if (asked.conn, asked.request_id) == (event.conn, event.request_id):
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
            self.handed_over(seek, event)
            seek.delivered = True

    def is_of_its_topic(self, consumer: OpenedConsumer, event: Received) -> bool:
        """Not of its retry letter topic, where it seeks by itself as well."""
        entry = self.tracker.entries.get(event.seq)
        return entry is None or entry.topic == consumer.topics[0]

    def entry_of(self, consumer: OpenedConsumer, event: Received) -> Entry:
        return Entry(consumer.topics[0], event.message_id.ledger, event.message_id.entry)


def target_of(invoke: Invoke) -> str:
    if (time_ms := invoke.args.get("publish_time_ms")) is not None:
        return f"publish time {time_ms} ms"
    id = invoke.args.get("message_id")
    return "a message" if id is None else f"{id[0]}:{id[1]}" + (f" (index {id[3]})" if id[3] >= 0 else "")


def lost_its_place(consumer: OpenedConsumer, at: Invoke | Received, event: Event) -> bool:
    """A time is told to the broker once. Where a subscription that is not durable went with its connection since, the
    consumer subscribes once more than a seek makes it, and begins where it began."""
    durable = (consumer.invoke.args.get("config") or {}).get("durable", True)
    if durable or not isinstance(at, Invoke) or at.args.get("publish_time_ms") is None:
        return False
    return sum(at.seq < session.request.seq < event.seq for session in consumer.sessions) > 1
