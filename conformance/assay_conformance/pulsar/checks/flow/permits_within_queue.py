"""flow.permits-within-queue"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.flow._permits import Ledger, PermitCheck


class PermitsWithinQueue(PermitCheck):
    """What was granted is never more than what came and a queue on top.

    Counted is what was written towards the client: what it had not read yet makes this bound wider, never narrower.
    What is too many by no more than ack_sets had taken out is another requirement's.
    """

    requirement = RequirementId("flow.permits-within-queue")
    skips_plain = True

    def granted(self, session: ConsumerSession, ledger: Ledger, event: Frame) -> None:
        if ledger.outstanding <= ledger.queue:
            self.exercise(event)
        elif session.consumer is not None and ledger.outstanding > ledger.queue + ledger.filtered:
            self.breach(
                "more-than-the-queue",
                f"consumer {session.consumer.handle} had granted {ledger.granted} permits by {ms(event.t_ns)} and "
                f"{ledger.charged} messages had come for them; {ledger.outstanding} are open, its queue holds "
                f"{ledger.queue}",
                *([ledger.first] if ledger.first else []),
                event,
            )
