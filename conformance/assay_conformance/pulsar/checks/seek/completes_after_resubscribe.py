"""seek.completes-after-resubscribe"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import late
from assay_conformance.checks.parts import takes_several
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Completion, Event
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.seek._seeking import SeekCheck, Sought, target_of


class CompletesAfterResubscribe(SeekCheck):
    """A seek that closed its consumer ends once the consumer has subscribed again: not before, and soon after.

    Where the broker's answer comes before CLOSE_CONSUMER, the client may end the seek while it is still connected.
    """

    requirement = RequirementId("seek.completes-after-resubscribe")

    def sought(self, seek: Sought, event: Completion) -> None:
        closed, answered = seek.closed, seek.answered
        if closed is None or answered is None or closed.seq > answered.seq:
            return
        if any(session.ready is not None for session in seek.sessions()):
            self.exercise(event)
            return
        self.breach(
            "ended-while-away",
            f"consumer {seek.consumer.handle} sought {target_of(seek.invoke)}, and the broker closed it at "
            f"{ms(closed.t_ns)}; expected the call to end after it has subscribed again; it ended before, at "
            f"{ms(event.t_ns)}",
            closed,
            answered,
            event,
        )

    def over(self, session: ConsumerSession, event: Event) -> None:
        seek = self.current.get(session.consumer.handle) if session.consumer is not None else None
        if seek is None or seek.completion is not None or seek.answered is None or session.ready is None:
            return
        if seek.command is None or session.request.seq < seek.command.seq or takes_several(self.view, seek.consumer):
            return
        since_ns = max(session.ready.t_ns, seek.answered.t_ns)
        if late("answer", since_ns, event.t_ns):
            self.overdue(
                "answer",
                since_ns,
                event.t_ns,
                "not-ended",
                f"consumer {seek.consumer.handle} sought {target_of(seek.invoke)}, and at {ms(since_ns)} the broker "
                "had answered and the consumer had subscribed again; expected the call to end; it had not by "
                f"{ms(event.t_ns)}",
                seek.invoke,
                seek.answered,
                session.ready,
            )
