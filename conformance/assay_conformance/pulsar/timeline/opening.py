"""The calls that opened and closed each producer, and the ends of calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import cached_property
from typing import Final

from assay_conformance.checks.leaving import LEAVING
from assay_conformance.history.events import first_of
from assay_conformance.model.event import AgentEnded, Completion, ErrorClass, Event, Invoke, Outcome
from assay_conformance.pulsar.timeline.producers import HandleEnd, Producer, Send
from assay_conformance.pulsar.timeline.producing import Producing

_CERTAIN: Final = (Outcome.OK, Outcome.FAIL)


class Opening(Producing):
    """The part of a timeline about what opens producers and consumers, and what ends them."""

    @property
    def openings(self) -> Mapping[int, Invoke]:
        """Handle of each producer -> the call that opened it."""
        return self._tracker.lines.openings

    def producers_of_client(self, client: int | None) -> list[int]:
        """Return the handles of the producers that a client was asked for."""
        return [handle for handle, opening in self.openings.items() if opening.args.get("client") == client]

    def opening(self, producer: Producer | None) -> Invoke | None:
        """Return the call that opened a producer."""
        return self._tracker.lines.openings.get(-1 if producer is None or producer.handle is None else producer.handle)

    def opening_of(self, handle: int | None) -> Invoke | None:
        """Return the call that opened a producer or consumer."""
        consumer = self.consumer(handle)
        return self.openings.get(-1 if handle is None else handle) if consumer is None else consumer.invoke

    def client_opening(self, opening: Invoke) -> Invoke | None:
        """Return the call that opened the client of a producer or consumer."""
        return self._tracker.foresight.clients.get(opening.args.get("client", -1))

    def failed_to_open(self, handle: int | None) -> bool:
        """Return whether the call that opened a producer or consumer failed: there is none then."""
        call = self.opening_of(handle)
        end = None if call is None else self.end_of(call.op)
        return end is not None and end.outcome is not Outcome.OK

    @property
    def bursts(self) -> Set[int]:
        """Handles of producers that sent bursts, of which the history has no single sends."""
        return self._tracker.lines.burst

    @property
    def closings(self) -> Mapping[int, HandleEnd]:
        """Handle of each producer -> what ends it."""
        return self._tracker.lines.closings

    def closing(self, handle: int | None) -> HandleEnd | None:
        """Return what ends a producer or consumer: the call that closes it or its client, or the end of its process."""
        consumer = self.consumer(handle)
        return self.closings.get(-1 if handle is None else handle) if consumer is None else consumer.closing

    def over(self, opening: Invoke) -> Event | None:
        """Return what ended the producer or consumer of an opening: its closing, or else the end of its process."""
        ends = (self.closing(opening.handle), *self.events.of(AgentEnded))
        later = (end for end in ends if end is not None and end.seq > opening.seq)
        return first_of(*later)

    def is_in_use(self, opening: Invoke, at: Event) -> bool:
        """Return whether the producer or consumer of an opening had opened by an event, and was not over."""
        over = self.over(opening)
        return self._tracker.operations[opening.op].had_succeeded(at) and (over is None or over.seq > at.seq)

    def close_of(self, handle: int | None) -> Completion | None:
        """Return how the call that closed a producer or consumer, or its client, ended, where it is closed then.

        The call succeeded, failed with a certain error, or failed for lack of a connection: the application has closed
        it all the same.
        """
        closing = self.closing(handle)
        end = self.end_of(closing.op) if isinstance(closing, Invoke) else None
        is_closed = end is not None and (end.outcome in _CERTAIN or end.error is ErrorClass.TRANSPORT)
        return end if is_closed else None

    @cached_property
    def leavings(self) -> list[Invoke]:
        """The first call of each verb by which the application closes something."""
        return [call for verb in LEAVING for call in self.events.invokes(verb)[:1]]

    def has_begun_to_end(self, seq: int) -> bool:
        """Return whether the application had begun to close something before event `seq`."""
        return any(call.seq < seq for call in self.leavings)

    def ends(self, *verbs: str) -> Iterator[Completion]:
        """Yield how the operations of these verbs ended, in order of arrival."""
        operations = self._tracker.operations
        return (end for end in self.events.completions(*verbs) if operations[end.op].completion is end)

    def is_pending(self, call: Invoke, at: Event) -> bool:
        """Return whether an operation was under way at an event: called, and not ended."""
        return call.seq < at.seq and self._tracker.operations[call.op].is_pending(at)

    def call(self, end: Completion) -> Invoke:
        """Return the call that ended so."""
        return self._tracker.operations[end.op].invoke

    def was_overdue(self, end: Completion) -> bool:
        """Return whether an operation had not ended in its time."""
        overdue = self._tracker.operations[end.op].overdue
        return overdue is not None and overdue.seq < end.seq

    def number(self, end: Completion) -> int:
        """Return which of its producer's messages a send was for."""
        return self.call(end).number or 0

    def completed_again(self, verb: str) -> list[tuple[Send, Completion]]:
        """Return operations of a verb that ended twice, with their second end."""
        return [(operation, end) for operation, end in self._tracker.completed_again if end.verb == verb]
