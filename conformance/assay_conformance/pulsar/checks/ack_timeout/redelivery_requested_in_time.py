"""ack-timeout.redelivery-requested-in-time"""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import EntryKey, buries, elapsed, late
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.tracker import OpenedConsumer
from assay_conformance.checks.written import Request
from assay_conformance.model.event import Event, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.ack_timeout._held import Held, HeldCheck
from assay_conformance.pulsar.checks.ack_timeout._timeouts import Span, span_of


class AckTimeoutRedeliveryRequestedInTime(HeldCheck):
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
