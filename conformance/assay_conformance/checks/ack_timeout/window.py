"""Which messages the time-out runs for, and when it is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay_conformance.checks.ack_timeout.holding import Span, TimeoutCheck, span_of
from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    EntryKey,
    buries,
    elapsed,
    entry_on,
    late,
    of_batch,
    unposted,
)
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Event, Frame, Invoke, Received
from assay_conformance.model.requirement import RequirementId


@dataclass(frozen=True, slots=True)
class _Held:
    """`event`: the agent's word of it, by which it was handed over at the latest; `frame`: what brought it, before
    which it was not."""

    event: Received
    frame: Frame

    @property
    def done_ns(self) -> int:
        """By the agent's own clock, which no way to the bench delays."""
        done_ns = self.event.done_ns
        return self.event.t_ns if done_ns is None else max(self.frame.t_ns, min(done_ns, self.event.t_ns))


class AskedForInWindow(TimeoutCheck, RequestCheck):
    """Obligation: a whole entry, handed over and neither acknowledged nor refused, nor to go round by a retry letter
    that fails.

    A request that names nothing asks for everything: it is judged by the message that waited longest.
    """

    requirement = RequirementId("ack-timeout.asked-for-in-window")
    judges_even: ClassVar[bool] = True
    """Time-outs of whole ticks; the others are another requirement's."""

    def start(self) -> None:
        super().start()
        self._held: dict[EntryKey, _Held] = {}
        self._unsure: set[EntryKey] = set()
        """What may be held since an unknown time, as what was handed over twice."""
        self._refused: set[EntryKey] = set()

    def handed(self, consumer: OpenedConsumer, entry: Entry, event: Received, frame: Frame | None, span: Span) -> None:
        key = (consumer.handle, entry)
        if frame is None or of_batch(event.message_id) or key in self._held:
            self._held.pop(key, None)
            self._unsure.add(key)
        elif span.even is self.judges_even and key not in self._unsure:
            self._held[key] = _Held(event, frame)

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
            for key, held in found.items():
                if key not in self._refused:
                    self._judge(key, held, span, event)
        elif not any(owner == handle for owner, _ in self._refused | self._unsure):
            key = min(found, key=lambda key: found[key].event.t_ns)
            self._judge(key, found[key], span, event)

    def _judge(self, key: EntryKey, held: _Held, span: Span, event: Frame) -> None:
        handle, entry = key
        handed = held.event
        if late("ack-timeout", handed.t_ns + span.most_ns, event.t_ns):
            self.suspect(
                "ack-timeout",
                handed.t_ns,
                event.t_ns,
                "too-late",
                f"consumer {handle} handed {entry} over at {ms(handed.t_ns)} and asked for it "
                f"{elapsed(event.t_ns, handed.t_ns)} later, expected {ms(span.most_ns)} at most",
                handed,
                event,
            )
        elif event.t_ns - held.done_ns < (least_ns := span.least_ns - TOLERANCES["time-out-early"].slack_ns):
            told = (
                "too-early",
                f"consumer {handle} handed {entry} over at {ms(held.done_ns)} and asked for it "
                f"{elapsed(event.t_ns, held.done_ns)} later, expected {ms(span.least_ns)} at least",
            )
            if event.t_ns - held.frame.t_ns < least_ns:
                self.breach(*told, handed, event)
            else:
                # An agent that stands still between a message and its word of it makes the wait look shorter.
                self.suspect("time-out-early", held.frame.t_ns, handed.t_ns, *told, handed, event)
        else:
            self.exercise(event)

    def closing(self, consumer: OpenedConsumer, event: Event) -> None:
        for session in consumer.sessions:
            if session.ended is None:
                self._end(session, event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        super().over(session, event)
        self._end(session, event)

    def _end(self, session: ConsumerSession, event: Event) -> None:
        consumer = session.consumer
        span = None if consumer is None else span_of(self.view, consumer)
        for handle, entry in list(self._held):
            if consumer is None or handle != consumer.handle or entry.topic != session.topic:
                continue
            held = self._held.pop((handle, entry)).event
            owed = span is not None and consumer is not None and not buries(self.view, consumer)
            if span is not None and owed and late("ack-timeout", held.t_ns + span.most_ns, event.t_ns):
                self.suspect(
                    "ack-timeout",
                    held.t_ns,
                    event.t_ns,
                    "never-asked-for",
                    f"consumer {handle} handed {entry} over at {ms(held.t_ns)}, heard nothing of it and had not asked "
                    f"for it by {ms(event.t_ns)}, expected within {ms(span.most_ns)}",
                    held,
                    event,
                )


class TicksFitTimeout(AskedForInWindow):
    """The same of time-outs that are no whole number of ticks, or shorter than one."""

    requirement = RequirementId("ack-timeout.ticks-fit")
    judges_even = False


class PrefetchedDoNotCount(TimeoutCheck, RequestCheck):
    """A request that names an entry of which the application never got a message.

    The precondition: a message that waited in the queue for longer than the time-out, and was then handed over.
    """

    requirement = RequirementId("ack-timeout.prefetched-do-not-count")

    def start(self) -> None:
        super().start()
        self._handed: set[EntryKey] = set()

    def handed(self, consumer: OpenedConsumer, entry: Entry, event: Received, frame: Frame | None, span: Span) -> None:
        first = (consumer.handle, entry) not in self._handed
        if first and frame is not None and late("ack-timeout", frame.t_ns + span.most_ns, event.t_ns):
            self.exercise(event)

    @on(Received)
    def received(self, event: Received) -> None:
        super().received(event)
        entry = self.tracker.entries.get(event.seq)
        if entry is not None:
            self._handed.add((event.handle, entry))

    def redeliver(self, request: Request) -> None:
        consumer, event = request.consumer, request.frame
        if span_of(self.view, consumer) is None:
            return
        for id in event.ids:
            entry = entry_on(request.session, id)
            frame = self.frames.get((consumer.handle, entry))
            whole = frame is not None and frame.intact is not False and frame.meta is not None
            if frame is None or not whole or (consumer.handle, entry) in self._handed or _is_chunk(frame):
                continue
            self.suspect(
                "ack-timeout",
                frame.t_ns,
                event.t_ns,
                "prefetched-asked-for",
                f"consumer {consumer.handle} got {entry} at {ms(frame.t_ns)} and asked for it again "
                f"{elapsed(event.t_ns, frame.t_ns)} later, while it waited for the application to take it",
                frame,
                event,
            )


def _is_chunk(frame: Frame) -> bool:
    return frame.meta is not None and frame.meta.chunk_id is not None
