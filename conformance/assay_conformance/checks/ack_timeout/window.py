"""Which messages the time-out runs for, and when it is over."""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.checks.ack_timeout.held import Held, HeldCheck
from assay_conformance.checks.ack_timeout.holding import Span, TimeoutCheck, span_of
from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    EntryKey,
    buries,
    elapsed,
    entry_on,
    late,
)
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.tracker import Entry, OpenedConsumer
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Event, Frame, Received
from assay_conformance.model.requirement import RequirementId


class AskedForInWindow(HeldCheck):
    requirement = RequirementId("ack-timeout.redelivery-requested-in-time")
    judges_even: ClassVar[bool] = True
    """Time-outs of whole ticks; the others are another requirement's."""

    def counts(self, span: Span) -> bool:
        return span.even is self.judges_even

    def asked_for(self, request: Request, held: dict[EntryKey, Held], span: Span) -> None:
        for key, since in held.items():
            self._judge(key, since, span, request.frame)

    def _judge(self, key: EntryKey, held: Held, span: Span, event: Frame) -> None:
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

    def left(self, consumer: OpenedConsumer, held: dict[EntryKey, Held], event: Event) -> None:
        span = span_of(self.view, consumer)
        if span is None or buries(self.view, consumer):
            return
        for (handle, entry), since in ((key, one.event) for key, one in held.items()):
            if late("ack-timeout", since.t_ns + span.most_ns, event.t_ns):
                self.suspect(
                    "ack-timeout",
                    since.t_ns,
                    event.t_ns,
                    "never-asked-for",
                    f"consumer {handle} handed {entry} over at {ms(since.t_ns)}, heard nothing of it and had not asked "
                    f"for it by {ms(event.t_ns)}, expected within {ms(span.most_ns)}",
                    since,
                    event,
                )


class TicksFitTimeout(AskedForInWindow):
    """The same of time-outs that are no whole number of ticks, or shorter than one."""

    requirement = RequirementId("ack-timeout.tick-within-timeout")
    judges_even = False


class PrefetchedDoNotCount(TimeoutCheck, RequestCheck):
    """A request that names an entry of which the application never got a message.

    The precondition: a message that waited in the queue for longer than the time-out, and was then handed over.
    """

    requirement = RequirementId("ack-timeout.not-for-prefetched")

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
