"""Calls of message handlers: with which message, from when to when, and what else ran meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assay_conformance.history.events import Events
from assay_conformance.judging.tolerance import TOLERANCES
from assay_conformance.model.event import Completion, Event, Handled, Invoke, Received
from assay_conformance.pulsar.timeline.consumers import Consumer


@dataclass(slots=True, eq=False)
class HandlerCall:
    """A call of a consumer's handler. `end` is None where it had not ended when the history did."""

    consumer: Consumer
    message: Received
    end: Handled | None

    @property
    def began_ns(self) -> int:
        """When the client made it, by the clock of the agent."""
        return self.message.t_ns if self.message.called_ns is None else self.message.called_ns

    @property
    def ended_ns(self) -> int | None:
        """When it returned or raised, by the same clock; None where it did not."""
        if self.end is None:
            return None
        return self.end.t_ns if self.end.done_ns is None else self.end.done_ns

    @property
    def raised(self) -> bool:
        """Whether it ended in an exception of the application."""
        return self.end is not None and self.end.raised

    def runs_at(self, time_ns: int) -> bool:
        """Return whether it had begun and not ended at a time of the agent's clock."""
        return self.began_ns <= time_ns and (self.ended_ns is None or time_ns < self.ended_ns)

    def is_over_before(self, event: Event) -> bool:
        """Return whether its end was reported before an event."""
        return self.end is not None and self.end.seq < event.seq

    def __str__(self) -> str:
        return f"the handler call of consumer {self.consumer.handle} for delivery {self.message.delivery}"


def handler_calls(events: Events, consumers: Iterable[Consumer]) -> list[HandlerCall]:
    """Return all handler calls, in the order in which the client made them."""
    known = {consumer.handle: consumer for consumer in consumers}
    ends = {(end.handle, end.delivery): end for end in events.of(Handled)}
    found = [
        HandlerCall(known[message.handle], message, ends.get((message.handle, message.delivery)))
        for message in events.of(Received)
        if message.called_ns is not None and message.handle in known
    ]
    return sorted(found, key=lambda call: (call.began_ns, call.message.seq))


def listens(consumer: Consumer) -> bool:
    """Return whether it was opened with a message handler."""
    return bool(consumer.invoke.args.get("listener"))


def is_let_wait(events: Events, inside: Invoke) -> bool:
    """Return whether the handler call in which this call is made was requested by earlier receives, or has returned.
    True without any receive.
    """
    asked = [one for one in events.invokes("receive") if one.handle == inside.handle]
    ends = {one.op: one for one in events.completions("receive")}
    let_wait = 0
    for call in (one for one in asked if one.seq < inside.seq):
        end = ends.get(call.op)
        if end is None or end.seq > inside.seq:
            let_wait += int(call.args.get("count", 1))
        else:
            let_wait += end.count or 0
    return not asked or let_wait >= int(inside.args["inside"])


def client_of(consumer: Consumer) -> int | None:
    """Return the handle of the client on which it was opened."""
    client = consumer.invoke.args.get("client")
    return int(client) if client is not None else None


def called_ns(end: Completion) -> int:
    """Return when the client was called for an operation; where that is not known, when it ended."""
    return end.t_ns if end.called_ns is None else end.called_ns


def done_ns(end: Completion) -> int:
    """Return when the client reported how an operation ended."""
    return end.t_ns if end.done_ns is None else end.done_ns


def occupied(calls: Iterable[HandlerCall], consumer: Consumer, since_ns: int, until_ns: int) -> bool:
    """Return whether a handler call of the client ran at some time between two times of the agent's clock. The client
    may have one thread for all its handlers.
    """
    client, least_ns = client_of(consumer), TOLERANCES["at-once"].slack_ns
    for call in calls:
        end_ns = until_ns if call.ended_ns is None else min(call.ended_ns, until_ns)
        if client_of(call.consumer) == client and end_ns - max(call.began_ns, since_ns) > least_ns:
            return True
    return False


def beside(calls: Iterable[HandlerCall], consumer: Consumer) -> Iterator[HandlerCall]:
    """Yield the calls of other consumers of the same client."""
    client = client_of(consumer)
    return (one for one in calls if one.consumer is not consumer and client_of(one.consumer) == client)
