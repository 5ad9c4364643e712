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
    """A seek that sent its consumer away ends when that is back, not before, and soon after.

    Where the broker's answer comes ahead of the CLOSE_CONSUMER, a client that is still connected may end it then.
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
            f"consumer {seek.consumer.handle} sought {target_of(seek.invoke)}; the broker sent it away at "
            f"{ms(closed.t_ns)}, and the call ended at {ms(event.t_ns)}, before it was subscribed again",
            closed,
            answered,
            event,
        )

    def over(self, session: ConsumerSession, event: Event) -> None:
        seek = self.current.get(session.consumer.handle) if session.consumer is not None else None
        if seek is None or seek.completion is not None or seek.answered is None or session.ready is None:
            return
        if seek.asked is None or session.request.seq < seek.asked.seq or takes_several(self.view, seek.consumer):
            return
        since_ns = max(session.ready.t_ns, seek.answered.t_ns)
        if late("answer", since_ns, event.t_ns):
            self.overdue(
                "answer",
                since_ns,
                event.t_ns,
                "not-ended",
                f"consumer {seek.consumer.handle} sought {target_of(seek.invoke)}; the broker had answered and it was "
                f"subscribed again at {ms(since_ns)}, and the call had not ended at {ms(event.t_ns)}",
                seek.invoke,
                seek.answered,
                session.ready,
            )
