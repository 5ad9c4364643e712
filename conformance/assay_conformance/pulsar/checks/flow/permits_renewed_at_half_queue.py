"""flow.permits-renewed-at-half-queue"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import late
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Event, Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.flow._permits import Ledger, PermitCheck


class PermitsRenewedAtHalfQueue(PermitCheck):
    """Once the application has taken half a queue, permits follow; and never in smaller portions.

    Judged on a consumer's first connection: behind a reconnect nobody sees which connection a delivery came over.
    """

    requirement = RequirementId("flow.permits-renewed-at-half-queue")
    skips_plain = True

    @on(Received)
    def received(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        session = consumer.sessions[0] if consumer is not None and consumer.sessions else None
        ledger = self.kept.of(session)
        if session is None or ledger is None or session.ended is not None:
            return
        entry = self.tracker.entries.get(event.seq)
        # A consumer of several topics, as with retry letters, has a queue and permits on each.
        if entry is not None and entry.topic != session.topic:
            return
        ledger.taken += 1
        if ledger.taken >= ledger.refill and ledger.ripe is None:
            ledger.ripe = event

    def granted(self, session: ConsumerSession, ledger: Ledger, event: Frame) -> None:
        self._overdue(session, ledger, event)
        permits = event.permits or 0
        if permits < max(1, ledger.queue // 2) and session.consumer is not None:
            self.breach(
                "in-drips",
                f"consumer {session.consumer.handle} granted {permits} permits at {ms(event.t_ns)}; its queue holds "
                f"{ledger.queue}, expected no grant before half of them were used",
                *([ledger.first] if ledger.first else []),
                event,
            )
        else:
            self.exercise(event)
        ledger.taken -= permits
        ledger.ripe = None

    def over(self, session: ConsumerSession, event: Event) -> None:
        ledger = self.kept.of(session)
        if ledger is not None:
            self._overdue(session, ledger, event)

    def _overdue(self, session: ConsumerSession, ledger: Ledger, event: Event) -> None:
        ripe, consumer = ledger.ripe, session.consumer
        if ripe is None or consumer is None:
            return
        until_ns = min(event.t_ns, consumer.closing.t_ns if consumer.closing is not None else event.t_ns)
        if late("answer", ripe.t_ns, until_ns):
            self.overdue(
                "answer",
                ripe.t_ns,
                until_ns,
                "no-refill",
                f"the application had taken half the queue of consumer {consumer.handle} ({ledger.refill} of "
                f"{ledger.queue}) at {ms(ripe.t_ns)}, and no permits had followed by {ms(until_ns)}",
                ripe,
                event,
            )
        ledger.ripe = None
