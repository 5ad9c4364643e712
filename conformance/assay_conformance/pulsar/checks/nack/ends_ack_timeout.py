"""nack.ends-ack-timeout"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import EntryKey, entry_on, late, number_in_force, of_batch
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.tracker import Call, ConsumerSession
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Event, Frame, Invoke, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.nack._windows import window_of


@dataclass(slots=True)
class _Refusal:
    """A refused message, and the command that asked for it first."""

    call: Call
    request: Frame | None = None


class EndsAckTimeout(RequestCheck):
    """One request for a refused message until it comes again, and not before the redelivery delay.

    Judged where requests name messages, and an acknowledgment time-out is in force.
    """

    requirement = RequirementId("nack.ends-ack-timeout")
    needs = ((Invoke, "nack"),)

    def start(self) -> None:
        self._refused: dict[EntryKey, _Refusal] = {}
        self._before: set[EntryKey] = set()

    def asked(self, call: Call) -> None:
        key = (call.consumer.handle, call.entry)
        self._refused.pop(key, None)
        if call.invoke.verb == "ack":
            return
        timed = number_in_force(self.view, call.consumer, "ack_timeout_ms")
        # What was refused twice may be asked for twice; a batch is handed over in parts, and each starts the clock.
        fit = key not in self._before and not of_batch(call.message.message_id)
        self._before.add(key)
        if timed and fit and self.session_of(call) is not None:
            self._refused[key] = _Refusal(call)

    @on(Received)
    def received(self, event: Received) -> None:
        """The application has another copy of it, with a clock of its own."""
        entry = self.tracker.entries.get(event.seq)
        if entry is not None:
            self._refused.pop((event.handle, entry), None)

    def redeliver(self, request: Request) -> None:
        event = request.frame
        if not event.ids:
            return
        window = window_of(self.view, request.consumer)
        for key in request.asks_for(self._refused):
            refusal = self._refused[key]
            told = refusal.call.invoke
            completion = refusal.call.operation.completion
            if completion is None or not late("crossing", refusal.call.called_ns, event.t_ns):
                del self._refused[key]  # It left at the moment of the refusal, for another reason.
                continue
            early_ns = TOLERANCES["nack-early"].slack_ns
            if refusal.request is not None:
                self._found("asked-twice", refusal, event, f"and before that at {ms(refusal.request.t_ns)}")
            elif window is not None and event.t_ns < told.t_ns + window.earliest_ns - early_ns:
                self._found("still-timed-out", refusal, event, "before its redelivery delay was over")
            else:
                refusal.request = event
                self.exercise(event)
                continue
            del self._refused[key]

    def _found(self, code: str, refusal: _Refusal, event: Frame, words: str) -> None:
        call, request = refusal.call, refusal.request
        self.breach(
            code,
            f"consumer {call.consumer.handle} was told at {ms(call.invoke.t_ns)} that {call.entry} is refused and "
            f"asked for it at {ms(event.t_ns)}, {words}; expected one request, after the delay",
            call.invoke,
            *([request] if request is not None else []),
            event,
        )

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and event.from_sender:
            self._refused.pop((session.consumer.handle, entry_on(session, event.ids[0])), None)

    def over(self, session: ConsumerSession, event: Event) -> None:
        del event
        for key in [key for key in self._refused if session.consumer is not None and key[0] == session.consumer.handle]:
            del self._refused[key]
