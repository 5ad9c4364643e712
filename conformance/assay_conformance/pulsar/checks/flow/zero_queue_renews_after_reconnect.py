"""flow.zero-queue-renews-after-reconnect"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import late
from assay_conformance.checks.tracker import ConsumerSession, OpenedConsumer
from assay_conformance.model.event import Completion, Event, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.flow._zero_queue import Granted, ZeroQueueCheck


class ZeroQueueRenewsAfterReconnect(ZeroQueueCheck):
    """Behind a reconnect the permit of a receive that waits is granted again."""

    requirement = RequirementId("flow.zero-queue-renews-after-reconnect")

    def flowed(self, session: ConsumerSession, granted: Granted, event: Frame) -> None:
        assert session.consumer is not None
        if granted.permits == event.permits and session.is_return and self.wanted(session.consumer).waiting:
            self.exercise(event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        granted, consumer = self.granted(session), session.consumer
        if granted is None or consumer is None or session.ready is None or granted.permits or not session.is_return:
            return
        until_ns = consumer.closing.t_ns if consumer.closing is not None else event.t_ns
        wanted = self.wanted(consumer)
        since_ns = max(session.ready.t_ns, wanted.asked_ns)
        if wanted.waiting and late("answer", since_ns, until_ns):
            self._silent(session, consumer, since_ns, until_ns, event)

    @on(Completion, "receive")
    def gave_up(self, event: Completion) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle or 0)
        session = consumer.live_on(consumer.topics[0]) if consumer is not None else None
        granted = self.granted(session)
        operation = self.tracker.operations.get(event.op)
        if consumer is None or session is None or granted is None or session.ready is None or operation is None:
            return
        waited = operation.invoke.seq < session.ready.seq and late("answer", session.ready.t_ns, event.t_ns)
        if waited and not granted.permits and not event.count and session.is_return:
            self._silent(session, consumer, session.ready.t_ns, event.t_ns, event)

    def _silent(
        self, session: ConsumerSession, consumer: OpenedConsumer, since_ns: int, until_ns: int, event: Event
    ) -> None:
        assert session.ready is not None
        self.overdue(
            "answer",
            since_ns,
            until_ns,
            "waits-without-permit",
            f"consumer {consumer.handle} has no queue, and its application waits for a message; it was subscribed "
            f"again at {ms(session.ready.t_ns)} and had granted no permit by {ms(until_ns)}",
            session.ready,
            event,
        )
