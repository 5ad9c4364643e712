"""nack.later-nacks-do-not-postpone"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import EntryKey, buries, elapsed, late
from assay_conformance.checks.tracker import Call, ConsumerSession, OpenedConsumer
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Event, Invoke
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.nack._windows import window_of


@dataclass(slots=True)
class _Waiting:
    call: Call
    others: list[int] = field(default_factory=list)
    """When other messages were refused since."""


class LaterNacksDoNotPostpone(RequestCheck):
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
