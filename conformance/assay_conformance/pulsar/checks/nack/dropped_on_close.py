"""nack.dropped-on-close"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import ConsumerCheck, elapsed, from_client, late, number_in_force
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import Call, OpenedConsumer
from assay_conformance.model.event import Event, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.nack._windows import WIDEST_PRECISION_MS


class DroppedOnClose(ConsumerCheck):
    """A close with refusals that were not due yet."""

    requirement = RequirementId("nack.dropped-on-close")
    needs = ((Invoke, "nack"),)

    def start(self) -> None:
        self._refused: dict[int, Call] = {}
        self._closing: dict[int, Event] = {}

    def called(self, call: Call) -> None:
        if call.invoke.verb == "nack" and self.session_of(call) is not None:
            self._refused[call.consumer.handle] = call

    def closing(self, consumer: OpenedConsumer, event: Event) -> None:
        call = self._refused.get(consumer.handle)
        delay_ms = number_in_force(self.view, consumer, "nack_delay_ms")
        connected = any(session.ended is None and session.ready is not None for session in consumer.sessions)
        slack_ns = 2 * TOLERANCES["answer"].slack_ns
        if call is None or delay_ms is None or not connected or call.operation.outcome is not Outcome.OK:
            return
        if event.t_ns + slack_ns < call.called_ns + (delay_ms - WIDEST_PRECISION_MS) * MS:
            self._closing[consumer.handle] = event

    @on(Frame, "CLOSE_CONSUMER")
    def close(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not from_client(event):
            return
        asked = self._closing.pop(session.consumer.handle, None)
        if asked is None:
            return
        if not late("answer", asked.t_ns, event.t_ns):
            self.exercise(event)
            return
        self.suspect(
            "answer",
            asked.t_ns,
            event.t_ns,
            "close-waited",
            f"consumer {session.consumer.handle} was to be closed at {ms(asked.t_ns)}, with refused messages not due "
            f"yet; its CLOSE_CONSUMER left {elapsed(event.t_ns, asked.t_ns)} later, expected at once",
            asked,
            event,
        )
