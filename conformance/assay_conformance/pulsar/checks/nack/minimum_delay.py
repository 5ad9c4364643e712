"""nack.minimum-delay"""

from __future__ import annotations

from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import EntryKey, elapsed, number_in_force, unposted
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Invoke
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.nack._timers import Timers
from assay_conformance.pulsar.checks.nack._windows import LEAST_DELAY_MS, least_window_of


class MinimumDelay(RequestCheck):
    """Judged where the configured delay is below the minimum, and the client's precision leaves something to judge.

    Those of a batch wait each for its own time, and so does what was nearly due when everything was asked for. An entry
    with a message whose retry letter fails may be asked for at once.
    """

    requirement = RequirementId("nack.minimum-delay")
    needs = ((Invoke, "nack"),)

    def start(self) -> None:
        self._refused: dict[EntryKey, Call] = {}
        self._unposted: set[EntryKey] = set()
        self._timers = Timers()

    @on(Invoke, "reconsume_later")
    def sent_round(self, event: Invoke) -> None:
        self._unposted |= unposted(self.tracker, event)

    def asked(self, call: Call) -> None:
        delay_ms = number_in_force(self.view, call.consumer, "nack_delay_ms")
        timeout_ms = number_in_force(self.view, call.consumer, "ack_timeout_ms")
        if delay_ms is not None and delay_ms < LEAST_DELAY_MS and not timeout_ms and call.invoke.verb == "nack":
            self._timers.start(call)
            self._refused.setdefault((call.consumer.handle, call.entry), call)

    def redeliver(self, request: Request) -> None:
        consumer, event = request.consumer, request.frame
        window = least_window_of(self.view, consumer)
        found = {key: self._refused[key] for key in request.asks_for(self._refused)}
        if window is None or window.earliest_ns <= 0:
            return
        due = self._timers.due(request, window) | (self._unposted & found.keys())
        for key in found:
            # A request for everything was meant for those that were due: the others' own may still come.
            if event.ids or key in due:
                del self._refused[key]
        if found and due:
            self.exercise(event)
        elif found:
            call = min(found.values(), key=lambda call: call.invoke.t_ns)
            self.breach(
                "below-minimum",
                f"consumer {consumer.handle} asked for {call.entry} again {elapsed(event.t_ns, call.invoke.t_ns)} "
                f"after the application refused it, expected {window.earliest_ns // MS} ms at least",
                call.invoke,
                event,
            )
