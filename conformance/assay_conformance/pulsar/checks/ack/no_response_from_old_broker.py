"""ack.no-response-from-old-broker"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import SessionKey, late, number_in_force, of_batch, session_key
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession
from assay_conformance.model.event import Completion, Event, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.ack._receipts import ReceiptCheck


class NoResponseFromOldBroker(ReceiptCheck):
    """Where the broker answers no ACK the call ends when the acknowledgment has left."""

    requirement = RequirementId("ack.no-response-from-old-broker")

    def start(self) -> None:
        super().start()
        self._old: dict[int, tuple[Call, SessionKey]] = {}

    @on(Invoke, "ack")
    def told(self, event: Invoke) -> None:
        calls = self.tracker.calls.get(event.op, ())
        session = calls[0].consumer.live_on(calls[0].entry.topic) if calls else None
        if session is None or session.ready is None or not self.waits(calls[0]):
            return
        if any(of_batch(call.message.message_id) for call in calls):
            return
        # A call may be of several topics, and those be with several brokers.
        if all(self.agreed_for(call) is not None and not self.is_answered(call) for call in calls):
            self._old[event.op] = (calls[0], session_key(session))

    @on(Completion, "ack")
    def told_of_end(self, event: Completion) -> None:
        if event.op in self._old:
            call, _ = self._old.pop(event.op)
            self._judge(call, event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        super().over(session, event)
        for op, (call, key) in list(self._old.items()):
            if key == session_key(session):
                del self._old[op]
                closing = call.consumer.closing
                if closing is None or closing.t_ns >= event.t_ns:
                    self._judge(call, event)

    def _judge(self, call: Call, event: Event) -> None:
        due_ns = call.invoke.t_ns + (number_in_force(self.view, call.consumer, "ack_group_ms") or 0) * MS
        if late("answer", due_ns, event.t_ns):
            self.overdue(
                "answer",
                due_ns,
                event.t_ns,
                "waits-for-nothing",
                f"consumer {call.consumer.handle} was told at {ms(call.invoke.t_ns)} to acknowledge {call.entry} on a "
                f"broker that answers no ACK; the call had not ended by {ms(event.t_ns)}",
                call.invoke,
                event,
            )
        elif isinstance(event, Completion) and event.outcome is Outcome.OK:
            self.exercise(event)
