"""flow.dropped-message-returns-permit"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import late
from assay_conformance.checks.tracker import OpenedConsumer
from assay_conformance.model.event import Completion, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.flow._permits import PermitCheck


class DroppedMessageReturnsPermit(PermitCheck):
    """A receive that ended for want of messages shows an empty queue: whatever came was handed over or dropped, and
    less than half a queue of permits may wait to be granted again."""

    requirement = RequirementId("flow.dropped-message-returns-permit")
    skips_plain = True

    @on(Completion, "receive")
    def starved(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        consumer = self.tracker.opened_consumers.get(event.handle or 0)
        if operation is None or consumer is None or event.outcome is not Outcome.OK:
            return
        if (event.count or 0) < operation.invoke.args.get("count", 0):
            self._queue_is_empty(consumer, event)

    def _queue_is_empty(self, consumer: OpenedConsumer, event: Completion) -> None:
        session = consumer.live_on(consumer.topics[0])
        ledger = self.kept.of(session)
        if session is None or ledger is None or ledger.first is None or ledger.came is None or ledger.garbled:
            return
        taken = len(self.tracker.received.get(consumer.handle, ())) - ledger.before
        dropped, owed = ledger.charged - taken, ledger.queue - ledger.outstanding
        if dropped <= 0 or not late("answer", ledger.came.t_ns, event.t_ns):
            return
        if owed < ledger.refill:
            self.exercise(event)
            return
        self.overdue(
            "answer",
            ledger.came.t_ns,
            event.t_ns,
            "permits-lost",
            f"of {ledger.charged} messages that came for consumer {consumer.handle} by {ms(ledger.came.t_ns)} the "
            f"application got {taken}, and at {ms(event.t_ns)} there were no others; {ledger.outstanding} permits were "
            f"open, its queue holds {ledger.queue}: those of the {dropped} that were dropped were not granted again",
            ledger.first,
            ledger.came,
            event,
        )
