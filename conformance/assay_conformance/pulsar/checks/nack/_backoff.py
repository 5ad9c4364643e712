"""Refusals whose delay grows with the redeliveries: each at its own time, whatever waits beside it.

Judged on subscriptions whose consumers share messages, where a request names what it is for; a message that was refused
twice before it was asked for may keep either time.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.consumption import EntryKey, buries, late
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.tracker import Call, ConsumerSession, OpenedConsumer
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Event, Frame, Invoke
from assay_conformance.pulsar.checks.nack._windows import Window, backoff_window_of


@dataclass(slots=True)
class Growing:
    """A refusal that waits for its time. `behind`: one that was refused before it, and is due later."""

    call: Call
    window: Window
    behind: Growing | None
    asked_ns: int
    told_ns: int | None = None

    @property
    def latest_ns(self) -> int:
        return (self.asked_ns if self.told_ns is None else self.told_ns) + self.window.latest_ns


class BackoffCheck(RequestCheck):
    """Keeps the refusals that wait, of consumers with a backoff."""

    needs = ((Invoke, "nack"),)

    def start(self) -> None:
        self._waiting: dict[EntryKey, Growing] = {}
        self._twice: set[EntryKey] = set()
        """Refused again while the first refusal waited: nobody knows which time they keep. What a client without a
        connection was told may wait on beside the next refusal, and so may what the end of one left waiting."""

    def early(self, growing: Growing, event: Frame) -> None: ...

    def in_time(self, growing: Growing, event: Frame) -> None: ...

    def overdue_at(self, growing: Growing, event: Event) -> None: ...

    def asked(self, call: Call) -> None:
        handle = call.consumer.handle
        key = (handle, call.entry)
        earlier = self._waiting.pop(key, None)
        if call.invoke.verb != "nack":
            return
        if earlier is not None or self.session_of(call) is None:
            self._twice.add(key)
        window = backoff_window_of(self.view, call)
        if key in self._twice or window is None or buries(self.view, call.consumer):
            return
        asked_ns = call.invoke.t_ns
        longer = [
            other
            for (owner, _), other in self._waiting.items()
            if owner == handle and other.asked_ns + other.window.earliest_ns > asked_ns + window.latest_ns
        ]
        self._waiting[key] = Growing(call, window, longer[0] if longer else None, asked_ns)

    def called(self, call: Call) -> None:
        growing = self._waiting.get((call.consumer.handle, call.entry))
        if growing is not None and growing.call.invoke.op == call.invoke.op:
            growing.told_ns = call.called_ns

    def redeliver(self, request: Request) -> None:
        self._twice.difference_update(request.asks_for(self._twice))
        for key in request.asks_for(self._waiting):
            growing = self._waiting.pop(key)
            if request.frame.ids:
                self._judge(growing, request.frame)

    def closing(self, consumer: OpenedConsumer, event: Event) -> None:
        for session in consumer.sessions:
            if session.ended is None:
                self.over(session, event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        """What was lost with a session comes again by itself."""
        handle = session.consumer.handle if session.consumer is not None else None
        for owner, entry in [key for key in self._waiting if key[0] == handle and key[1].topic == session.topic]:
            growing = self._waiting.pop((owner, entry))
            self._twice.add((owner, entry))
            if late("nack-late", growing.latest_ns, event.t_ns):
                self.overdue_at(growing, event)

    def _judge(self, growing: Growing, event: Frame) -> None:
        slack_ns = TOLERANCES["nack-early"].slack_ns
        if event.t_ns < growing.asked_ns + growing.window.earliest_ns - slack_ns:
            self.early(growing, event)
        elif late("nack-late", growing.latest_ns, event.t_ns):
            self.overdue_at(growing, event)
        else:
            self.in_time(growing, event)
