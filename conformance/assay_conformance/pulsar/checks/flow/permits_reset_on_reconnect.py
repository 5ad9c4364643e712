"""flow.permits-reset-on-reconnect"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import late
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Event, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.flow._permits import Ledger, PermitCheck


class PermitsResetOnReconnect(PermitCheck):
    """The first FLOW behind a reconnect grants the whole queue again: it was emptied, and the broker starts at none.

    A grant for a message of before may cross the answer to SUBSCRIBE, and looks like the first one then; the whole
    queue's follows it. Grants ahead of that answer are another requirement's.
    """

    requirement = RequirementId("flow.permits-reset-on-reconnect")
    skips_plain = True

    def start(self) -> None:
        self._short: dict[int, Frame] = {}
        """Number of a session's SUBSCRIBE -> its first grant, as long as only such came that were not the queue's."""

    def first_granted(self, session: ConsumerSession, ledger: Ledger, event: Frame) -> None:
        if session.consumer is None or not session.is_return:
            return
        if event.permits == ledger.queue:
            self.exercise(event)
        else:
            self._short[session.request.seq] = event

    def granted(self, session: ConsumerSession, ledger: Ledger, event: Frame) -> None:
        if event.permits == ledger.queue and self._short.pop(session.request.seq, None) is not None:
            self.exercise(event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        ledger, consumer = self.kept.of(session), session.consumer
        if ledger is None or consumer is None or not session.is_return:
            return
        assert session.ready is not None
        until_ns = min(event.t_ns, consumer.closing.t_ns if consumer.closing is not None else event.t_ns)
        short = self._short.pop(session.request.seq, None)
        since = f"consumer {consumer.handle} was subscribed again at {ms(session.ready.t_ns)} and"
        if ledger.first is None and late("answer", session.ready.t_ns, until_ns):
            said = f"{since} had granted no permits by {ms(until_ns)}"
            code = "no-permits-after-reconnect"
            self.overdue("answer", session.ready.t_ns, until_ns, code, said, session.ready, event)
        elif short is not None and late("notice", session.ready.t_ns, until_ns):
            said = (
                f"{since} granted {short.permits} permits at {ms(short.t_ns)}; expected its queue size, "
                f"{ledger.queue}, whatever it had granted before"
            )
            code = "wrong-permits-after-reconnect"
            self.overdue("notice", session.ready.t_ns, until_ns, code, said, session.ready, short)
