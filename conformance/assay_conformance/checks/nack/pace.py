"""How refusals are paced: no faster than a minimum, not put off by later ones, and not awaited by a close."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    ConsumerCheck,
    EntryKey,
    buries,
    elapsed,
    from_client,
    late,
    number_in_force,
    unposted,
)
from assay_conformance.checks.nack.requests import (
    LEAST_DELAY_MS,
    WIDEST_PRECISION_MS,
    least_window_of,
    window_of,
)
from assay_conformance.checks.nack.timers import Timers
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import Call, ConsumerSession, OpenedConsumer
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Event, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId


class LeastDelay(RequestCheck):
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


@dataclass(slots=True)
class _Waiting:
    call: Call
    others: list[int] = field(default_factory=list)
    """When other messages were refused since."""


class SteadyRefusals(RequestCheck):
    """Each refusal has its own upper bound, judged where others followed within it, so often that a timer which each
    of them sets anew would not have fired."""

    requirement = RequirementId("nack.later-nacks-do-not-postpone")
    needs = ((Invoke, "nack"),)

    def start(self) -> None:
        self._waiting: dict[EntryKey, _Waiting] = {}

    def asked(self, call: Call) -> None:
        if call.invoke.verb == "ack":
            for handle, entry in list(self._waiting):
                if handle == call.consumer.handle and call.covers(entry):
                    del self._waiting[handle, entry]

    def called(self, call: Call) -> None:
        handle, session = call.consumer.handle, self.session_of(call)
        if call.invoke.verb != "nack" or session is None or buries(self.view, call.consumer):
            return
        for (owner, entry), waiting in self._waiting.items():
            if owner == handle and entry != call.entry:
                waiting.others.append(call.called_ns)
        if self._waiting.pop((handle, call.entry), None) is None:  # One refused twice may wait for the second time.
            self._waiting[handle, call.entry] = _Waiting(call)

    def redeliver(self, request: Request) -> None:
        for key in request.asks_for(self._waiting):
            self._judge(self._waiting.pop(key), request.frame)

    def closing(self, consumer: OpenedConsumer, event: Event) -> None:
        for session in consumer.sessions:
            if session.ended is None:
                self.over(session, event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        consumer = session.consumer
        for key in [key for key in self._waiting if consumer is not None and key[0] == consumer.handle]:
            if key[1].topic == session.topic:
                waiting = self._waiting.pop(key)
                if self._is_late(waiting, event):
                    self._judge(waiting, event)

    def _due_ns(self, waiting: _Waiting) -> int | None:
        window = window_of(self.view, waiting.call.consumer)
        return None if window is None else waiting.call.called_ns + window.latest_ns

    def _is_late(self, waiting: _Waiting, event: Event) -> bool:
        due_ns = self._due_ns(waiting)
        return due_ns is not None and late("nack-late", due_ns, event.t_ns)

    def _judge(self, waiting: _Waiting, event: Event) -> None:
        due_ns, call = self._due_ns(waiting), waiting.call
        if due_ns is None or not any(call.called_ns < other_ns < due_ns for other_ns in waiting.others):
            return
        if not self._is_late(waiting, event):
            self.exercise(event)
            return
        self.suspect(
            "nack-late",
            call.called_ns,
            event.t_ns,
            "postponed",
            f"consumer {call.consumer.handle} was told at {ms(call.called_ns)} that {call.entry} is refused, and of "
            f"{len(waiting.others)} others after it; by {ms(event.t_ns)} it had not asked for it before, expected "
            f"within {elapsed(due_ns, call.called_ns)} of the refusal",
            call.invoke,
            event,
        )


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
