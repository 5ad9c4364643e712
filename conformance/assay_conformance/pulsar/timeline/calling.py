"""What a timeline says of calls on consumers: acks, nacks and receives, and what became of the messages they name."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import chain

from assay_conformance.checks.base import View
from assay_conformance.checks.tracker import Call
from assay_conformance.history.events import grouped
from assay_conformance.judging.tolerance import TOLERANCES
from assay_conformance.model.event import (
    Completion,
    Event,
    Frame,
    Invoke,
    Outcome,
)
from assay_conformance.pulsar.timeline.calls import CallsAbout
from assay_conformance.pulsar.timeline.consumers import Consumer, Entry
from assay_conformance.pulsar.timeline.consuming import Consuming
from assay_conformance.pulsar.timeline.handlers import (
    HandlerCall,
    called_ns,
    client_of,
    done_ns,
    handler_calls,
    listens,
    occupied,
)
from assay_conformance.pulsar.timeline.moments import Moment, ReceiveEnded, RedeliverCall, moments


class Calling(Consuming):
    """The part of calls on consumers."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._moments: dict[int, list[Moment]] = {}
        self._by_entry: dict[int, CallsAbout] = {}

    @cached_property
    def starved(self) -> list[Completion]:
        """Receives that ended well with fewer messages than were asked for, in order; of handlers those that could have
        been called."""
        found = []
        for end in self.events.completions("receive"):
            call = self.call_of(end.op)
            short = call is not None and (end.count or 0) < int(call.args.get("count", 1))
            if short and end.outcome is Outcome.OK and not self.is_occupied(end):
                found.append(end)
        return found

    def is_occupied(self, end: Completion) -> bool:
        """Return whether other handlers of the client may have had its threads while a receive waited.

        Agents report a handler call when a receive asks for it: one that runs unasked is not in the history.
        """
        consumer = self.consumer(end.handle)
        if consumer is None or not listens(consumer):
            return False
        alike = [one for one in self.consumers if listens(one) and client_of(one) == client_of(consumer)]
        if any(one is not consumer and one.invoke.seq < end.seq for one in alike):
            return True
        return occupied(self.handler_calls, consumer, called_ns(end), done_ns(end))

    @cached_property
    def handler_calls(self) -> list[HandlerCall]:
        """Every call of a message handler, in the order in which the client made them."""
        return handler_calls(self.events, self.consumers)

    @cached_property
    def _calls(self) -> dict[int, list[Call]]:
        found: dict[int, list[Call]] = {}
        for calls in self._tracker.calls.values():
            for call in calls:
                found.setdefault(call.consumer.handle, []).append(call)
        return found

    def calls(self, consumer: Consumer) -> list[Call]:
        """Return every message of every ack and nack that the application asked of a consumer, in order."""
        return self._calls.get(consumer.handle, [])

    def calls_about(self, consumer: Consumer, entry: Entry) -> list[Call]:
        """Return the calls that name a message of an entry, and cumulative ones of a later entry."""
        return self._calls_about(consumer).of(entry)

    def is_ack_asked(self, consumer: Consumer, entry: Entry, before: Event) -> bool:
        """Return whether the application had asked to acknowledge a message of an entry, or all up to a later one.

        A client may drop the entry if it comes afterwards.
        """
        return self._calls_about(consumer).acknowledge(entry, before)

    def _calls_about(self, consumer: Consumer) -> CallsAbout:
        found = self._by_entry.get(consumer.handle)
        if found is None:
            found = self._by_entry[consumer.handle] = CallsAbout(self.calls(consumer))
        return found

    def calls_of(self, one: Invoke | Completion) -> Sequence[Call]:
        """Return the messages of its own consumer that an ack or nack names."""
        return self._tracker.calls.get(one.op, ())

    def moments(self, consumer: Consumer, after: Event | None = None) -> Sequence[Moment]:
        """Return what happened to the messages of a consumer, in order; all of it, or after an event."""
        found = self._moments.get(consumer.handle)
        if found is None:
            found = self._moments[consumer.handle] = moments(
                self._tracker,
                self.consumer_sessions,
                consumer,
                self.calls(consumer),
                self._receives.get(consumer.handle, ()),
                self._sent_rounds.get(consumer.handle, ()),
                self._redeliver_calls.get(consumer.handle, ()),
            )
        return found if after is None else found[bisect_right(found, after.seq, key=lambda one: one.event.seq) :]

    def may_be_called_for(self, request: Frame) -> bool:
        """Return whether the application may have called redeliver_all for a REDELIVER."""
        consumer, known = self.consumer_of(request), self._redeliver_calls
        calls = chain(*known.values()) if consumer is None else known.get(consumer.handle, ())
        return any(call.may_have_led_to(request) for call in calls)

    @cached_property
    def _redeliver_calls(self) -> dict[int | None, list[RedeliverCall]]:
        ended = {end.op: end.t_ns for end in self.events.completions("redeliver_all")}
        slack_ns = TOLERANCES["answer"].slack_ns
        invokes = self.events.invokes("redeliver_all")
        calls = (RedeliverCall(call, ended.get(call.op, self.bounds.end_ns) + slack_ns) for call in invokes)
        return grouped(calls, lambda one: one.invoke.handle)

    @cached_property
    def _receives(self) -> dict[int | None, list[ReceiveEnded]]:
        short = {end.seq for end in self.starved}
        ended = (ReceiveEnded(end, end.seq in short) for end in self.events.completions("receive"))
        return grouped(ended, lambda one: one.event.handle)

    @cached_property
    def _sent_rounds(self) -> dict[int | None, list[Invoke]]:
        return grouped(self.events.invokes("reconsume_later"), lambda call: call.handle)

    @cached_property
    def nacking(self) -> list[Consumer]:
        """Consumers on which the application nacked a message."""
        opened = self.consumers if self.events.invokes("nack") else ()
        return [one for one in opened if any(call.invoke.verb == "nack" for call in self.calls(one))]

    @cached_property
    def redelivering(self) -> list[Consumer]:
        """Consumers on which the application nacked a message, or called for all of them by redeliver_all."""
        return [one for one in self.consumers if one.handle in self._redeliver_calls or one in self.nacking]

    def closing_before(self, consumer: Consumer, event: Event) -> bool:
        """Return whether what ends a consumer had come by an event."""
        return consumer.closing is not None and consumer.closing.seq < event.seq

    def has_sought(self, consumer: Consumer, entry: Entry, before: Event) -> bool:
        """Return whether the application had asked a consumer to seek behind an entry."""
        calls = self.events.invokes_of(consumer.handle, "seek")
        named = (tuple(call.args.get("message_id", ())[:2]) for call in calls if call.seq < before.seq)
        return (entry.ledger, entry.entry) in named
