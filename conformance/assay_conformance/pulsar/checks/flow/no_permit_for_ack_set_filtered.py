"""flow.no-permit-for-ack-set-filtered"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.flow._permits import Ledger, PermitCheck


class NoPermitForAckSetFiltered(PermitCheck):
    """More permits are open than the queue holds, by no more than what ack_sets took out: those were returned."""

    requirement = RequirementId("flow.no-permit-for-ack-set-filtered")
    needs = (Trait.BATCH,)

    def granted(self, session: ConsumerSession, ledger: Ledger, event: Frame) -> None:
        if not ledger.filtered or session.consumer is None:
            return
        if ledger.outstanding <= ledger.queue:
            self.exercise(event)
        elif ledger.outstanding <= ledger.queue + ledger.filtered:
            self.breach(
                "permits-for-filtered",
                f"consumer {session.consumer.handle} granted {event.permits} permits at {ms(event.t_ns)}; "
                f"{ledger.outstanding} are open then, its queue holds {ledger.queue}. {ledger.filtered} messages had "
                "come that an ack_set takes out of their batch, and for which the broker had charged nothing",
                *([ledger.last_filtered] if ledger.last_filtered else []),
                event,
            )
