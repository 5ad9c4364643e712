"""What an application holds and has said nothing of: what a request asks for, and what is left when a session ends."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import EntryKey, of_batch, unposted
from assay_conformance.checks.resend import ended_ns
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Event, Frame, Invoke, Received
from assay_conformance.pulsar.checks.ack_timeout._timeouts import Span, TimeoutCheck, span_of


@dataclass(frozen=True, slots=True)
class Held:
    """`event`: the agent's word of it, by which it was handed over at the latest; `frame`: what brought it, before
    which it was not."""

    event: Received
    frame: Frame

    @property
    def done_ns(self) -> int:
        """By the agent's own clock, which no way to the bench delays."""
        return max(self.frame.t_ns, ended_ns(self.event))


class HeldCheck(TimeoutCheck, RequestCheck):
    """Whole entries, handed over and neither acknowledged nor refused, nor to go round by a retry letter that fails.

    A request that names nothing asks for everything: it is judged by the message that waited longest.
    """

    def start(self) -> None:
        super().start()
        self._held: dict[EntryKey, Held] = {}
        self._unsure: set[EntryKey] = set()
        """What may be held since an unknown time, as what was handed over twice."""
        self._refused: set[EntryKey] = set()

    def counts(self, span: Span) -> bool:
        """Whether a message that may be held for this long is this requirement's matter."""
        del span
        return True

    def asked_for(self, request: Request, held: dict[EntryKey, Held], span: Span) -> None:
        """A request for these, none of which it can be for another reason than the time-out."""

    def left(self, consumer: OpenedConsumer, held: dict[EntryKey, Held], event: Event) -> None:
        """The session or the Case ends at `event`, and these were not asked for."""

    def handed(self, consumer: OpenedConsumer, entry: Entry, event: Received, frame: Frame | None, span: Span) -> None:
        key = (consumer.handle, entry)
        if frame is None or of_batch(event.message_id) or key in self._held:
            self._held.pop(key, None)
            self._unsure.add(key)
        elif self.counts(span) and key not in self._unsure:
            self._held[key] = Held(event, frame)

    def asked(self, call: Call) -> None:
        handle = call.consumer.handle
        self._held.pop((handle, call.entry), None)
        if call.invoke.verb == "nack":
            self._refused.add((handle, call.entry))
        elif call.cumulative:
            for key in [key for key in self._held if key[0] == handle and key[1].topic == call.entry.topic]:
                if key[1] < call.entry:
                    del self._held[key]

    @on(Invoke, "reconsume_later")
    def sent_round(self, event: Invoke) -> None:
        for key in unposted(self.tracker, event):
            self._held.pop(key, None)
            self._refused.add(key)

    def redeliver(self, request: Request) -> None:
        handle, event = request.consumer.handle, request.frame
        span = span_of(self.view, request.consumer)
        found = {key: self._held.pop(key) for key in request.asks_for(self._held)}
        if event.ids:
            self._unsure.difference_update(request.asks_for(self._unsure))
        if not found or span is None:
            return
        if event.ids:
            held = {key: since for key, since in found.items() if key not in self._refused}
        elif any(owner == handle for owner, _ in self._refused | self._unsure):
            return
        else:
            first = min(found, key=lambda key: found[key].event.t_ns)
            held = {first: found[first]}
        self.asked_for(request, held, span)

    def closing(self, consumer: OpenedConsumer, event: Event) -> None:
        for session in consumer.sessions:
            if session.ended is None:
                self._end(session, event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        super().over(session, event)
        self._end(session, event)

    def _end(self, session: ConsumerSession, event: Event) -> None:
        consumer = session.consumer
        if consumer is not None:
            mine = [key for key in self._held if key[0] == consumer.handle and key[1].topic == session.topic]
            self.left(consumer, {key: self._held.pop(key) for key in mine}, event)
