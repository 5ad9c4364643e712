"""What is known of the messages an application holds, and of the time they may be held."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.checks.base import View, on
from assay_conformance.checks.consumption import ConsumerCheck, EntryKey, entry_on, number_in_force, to_client
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Event, Frame, Received

DEFAULT_TICK_MS = 1_000


@dataclass(frozen=True, slots=True)
class Span:
    """When, after a message was handed over, it may and must be asked for; without the tolerances."""

    least_ns: int
    most_ns: int
    even: bool
    """The time-out is a whole number of its ticks."""


def span_of(view: View, consumer: OpenedConsumer) -> Span | None:
    """None where there is no time-out."""
    timeout_ms = number_in_force(view, consumer, "ack_timeout_ms")
    if not timeout_ms:
        return None
    told_ms = number_in_force(view, consumer, "ack_timeout_tick_ms") or DEFAULT_TICK_MS
    tick_ms = min(told_ms, timeout_ms)
    return Span(timeout_ms * MS, (timeout_ms + 2 * tick_ms) * MS, even=timeout_ms % told_ms == 0)


class TimeoutCheck(ConsumerCheck):
    """Knows which entries of the running sessions came, and how many copies of them may still be handed over."""

    needs = (Setting("consumer", "ack_timeout_ms"),)

    def start(self) -> None:
        self.frames: dict[EntryKey, Frame] = {}
        """The last MESSAGE of an entry, on the session that runs."""
        self.copies: dict[EntryKey, int] = {}

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and to_client(event):
            key = (session.consumer.handle, entry_on(session, event.ids[0]))
            self.copies[key] = self.copies.get(key, 0) + event.messages
            self.frames[key] = event

    @on(Received)
    def received(self, event: Received) -> None:
        entry = self.tracker.entries.get(event.seq)
        consumer = self.tracker.opened_consumers.get(event.handle)
        span = None if consumer is None else span_of(self.view, consumer)
        if entry is not None and consumer is not None:
            key = (event.handle, entry)
            frame = self.frames.get(key)
            # Of two copies on their way it is not known which one this is, nor whether the first was thrown away.
            size = 1 if frame is None else frame.messages
            sure = self.copies.get(key, 0) <= size
            self.copies[key] = max(0, self.copies.get(key, 0) - 1)
            if frame is not None and span is not None and consumer.live_on(entry.topic) is not None:
                self.handed(consumer, entry, event, frame if sure else None, span)

    def handed(self, consumer: OpenedConsumer, entry: Entry, event: Received, frame: Frame | None, span: Span) -> None:
        """A message of `entry` was handed over; `frame` is what brought it, where that is certain."""

    def over(self, session: ConsumerSession, event: Event) -> None:
        del event
        for key in list(self._of(session, self.frames)):
            del self.frames[key]

    def _of(self, session: ConsumerSession, keys: dict[EntryKey, Frame]) -> Iterator[EntryKey]:
        for key in keys:
            if session.consumer is not None and key[0] == session.consumer.handle and key[1].topic == session.topic:
                yield key
