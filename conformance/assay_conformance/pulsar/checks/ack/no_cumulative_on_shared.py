"""ack.no-cumulative-on-shared"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import ConsumerCheck, SessionKey, from_client, session_key
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import Call, ConsumerSession
from assay_conformance.model.event import Completion, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId


class NoCumulativeOnShared(ConsumerCheck):
    """Judged by how the call ended, and by what was sent."""

    requirement = RequirementId("ack.no-cumulative-on-shared")
    needs = (Trait.CUMULATIVE,)

    def start(self) -> None:
        self._asked: dict[SessionKey, Call] = {}

    @on(Invoke, "ack")
    def invoked(self, event: Invoke) -> None:
        for call in self.tracker.calls.get(event.op, ()):
            session = call.consumer.live_on(call.entry.topic)
            if call.cumulative and session is not None and _is_shared(session):
                self._asked[session_key(session)] = call

    @on(Completion, "ack")
    def completed(self, event: Completion) -> None:
        call = next((call for call in self._asked.values() if call.invoke.op == event.op), None)
        if call is None:
            return
        if event.outcome is Outcome.FAIL:
            self.exercise(event)
        elif event.outcome is Outcome.OK:
            self.breach(
                "accepted",
                f"consumer {call.consumer.handle} has a shared subscription and took a cumulative acknowledgment of "
                f"{call.entry} at {ms(event.t_ns)}, expected an error: the broker ignores it",
                call.invoke,
                event,
            )

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or event.ack_type != "Cumulative" or not from_client(event) or not _is_shared(session):
            return
        call = self._asked.get(session_key(session))
        if call is not None:
            self.breach(
                "sent",
                f"consumer {call.consumer.handle} has a shared subscription and sent a cumulative ACK at "
                f"{ms(event.t_ns)}, expected none: the broker ignores it",
                call.invoke,
                event,
            )


def _is_shared(session: ConsumerSession) -> bool:
    return session.request.fields.get("subType") in ("Shared", "Key_Shared")
