"""flow.zero-queue-permit-per-receive"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import buries, is_acked
from assay_conformance.checks.tracker import ConsumerSession, Entry
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.flow._zero_queue import Granted, Wanted, ZeroQueueCheck
from assay_conformance.pulsar.checks.subscription._readers import is_reader


class ZeroQueuePermitPerReceive(ZeroQueueCheck):
    """Never more permits than messages the application has asked for, and one at a time.

    What comes again although the application has acknowledged it may be dropped, and so may what is buried, what was
    sought behind, and what a reader had read before: another permit follows for the receive that waits."""

    requirement = RequirementId("flow.zero-queue-permit-per-receive")

    def flowed(self, session: ConsumerSession, granted: Granted, event: Frame) -> None:
        assert session.consumer is not None
        wanted = self.wanted(session.consumer)
        handle, at = session.consumer.handle, ms(event.t_ns)
        if granted.permits - granted.came > 1:
            self.breach(
                "more-than-one",
                f"consumer {handle} has no queue and granted {event.permits} permits at {at}; "
                f"{granted.permits - granted.came} are open then, expected one",
                session.request,
                event,
            )
        elif granted.got + granted.permits > wanted.asked + granted.lost + self._dropped(session, wanted):
            self.breach(
                "unasked",
                f"consumer {handle} has no queue and granted a permit at {at}, its {granted.permits}. on this "
                f"connection; its application had asked for {wanted.asked} messages in all, and had got {granted.got} "
                "of them before",
                session.request,
                event,
            )
        else:
            self.exercise(event)

    def _dropped(self, session: ConsumerSession, wanted: Wanted) -> int:
        """How many of the messages that came may have been dropped for good."""
        return sum(count for entry, count in wanted.kept.items() if count > 0 and self._may_drop(session, entry))

    def _may_drop(self, session: ConsumerSession, entry: Entry) -> bool:
        consumer = session.consumer
        assert consumer is not None
        passed_over = (entry.ledger, entry.entry) in consumer.sought or is_reader(session)
        return passed_over or buries(self.view, consumer) or is_acked(self.tracker, consumer.handle, entry)
