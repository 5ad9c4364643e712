"""When redelivery of a refused message is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import EntryKey, buries, elapsed, late, number_in_force, unposted
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, OpenedConsumer
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Event, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.nack._timers import Timers
from assay_conformance.pulsar.checks.nack._windows import Window, window_of


@dataclass(slots=True)
class _Refused:
    """An entry that waits for its redelivery: refused first, and last, by these calls."""

    first: Call
    last: Call
    excused: bool = False


class NackRedeliveryRequestedInTime(RequestCheck):
    """Not before the delay, not after the delay and a tick.

    The lower bound counts from the command, the upper one from the last refusal by this consumer: that later refusals
    must not postpone earlier ones is another requirement. An ack in between excuses the client from asking at all.

    A request is too early only when no timer that runs for its entry is due. One that names no entry asks for all of
    them, and the refusals behind it may each bring one of their own. An entry with a message whose retry letter fails
    may be asked for at once.
    """

    requirement = RequirementId("nack.redelivery-requested-in-time")
    needs = ((Invoke, "nack"),)

    def start(self) -> None:
        self._refused: dict[EntryKey, _Refused] = {}
        self._acked: set[EntryKey] = set()
        self._unposted: set[EntryKey] = set()
        self._refusals_ns: dict[int, list[int]] = {}
        self._timers = Timers()

    def asked(self, call: Call) -> None:
        key = (call.consumer.handle, call.entry)
        if call.invoke.verb == "ack":
            self._acked.add(key)
            for (handle, entry), waiting in self._refused.items():
                if handle == key[0] and call.covers(entry):
                    waiting.excused = True
            return
        self._timers.start(call)
        if key not in self._acked and self.session_of(call) is not None:
            waiting = self._refused.setdefault(key, _Refused(call, call))
            waiting.last = call

    @on(Invoke, "reconsume_later")
    def sent_round(self, event: Invoke) -> None:
        self._unposted |= unposted(self.tracker, event)

    def called(self, call: Call) -> None:
        if call.invoke.verb == "nack":
            self._refusals_ns.setdefault(call.consumer.handle, []).append(call.called_ns)

    def redeliver(self, request: Request) -> None:
        event = request.frame
        window = window_of(self.view, request.consumer)
        asked_for = self._timers.asked_for(request)
        due = set(asked_for) if window is None else self._timers.due(request, window)
        due |= self._unposted.intersection(asked_for)
        found = [key for key in asked_for if key in self._refused]
        if window is not None and found:
            oldest = min(found, key=lambda key: self._refused[key].first.invoke.t_ns)
            for key in found if event.ids else (oldest,):
                self._judge(self._refused[key], window, event, early=not (due & {key} if event.ids else due))
        for key in found:
            if key in due or event.ids:
                del self._refused[key]
            else:
                self._refused[key].excused = True

    def closing(self, consumer: OpenedConsumer, event: Event) -> None:
        for session in consumer.sessions:
            if session.ended is None:
                self.over(session, event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        consumer = session.consumer
        if consumer is None:
            return
        window = window_of(self.view, consumer)
        for handle, entry in [key for key in self._refused if key[0] == consumer.handle]:
            if entry.topic == session.topic:
                waiting = self._refused.pop((handle, entry))
                start_ns = None if window is None else self._from(waiting, window)
                if window and start_ns is not None and late("nack-late", start_ns + window.latest_ns, event.t_ns):
                    self.suspect(
                        "nack-late",
                        start_ns,
                        event.t_ns,
                        "never-requested",
                        f"consumer {handle} was told at {ms(waiting.last.invoke.t_ns)} that {entry} is refused and had "
                        f"sent no REDELIVER of it by {ms(event.t_ns)}, expected one within "
                        f"{window.latest_ns / MS:.0f} ms",
                        waiting.last.invoke,
                        event,
                    )

    def _judge(self, waiting: _Refused, window: Window, event: Frame, early: bool) -> None:
        handle, first, last = waiting.first.consumer.handle, waiting.first.invoke, waiting.last
        if early and not number_in_force(self.view, waiting.first.consumer, "ack_timeout_ms"):
            self.breach(
                "too-early",
                f"consumer {handle} asked for {waiting.first.entry} again {elapsed(event.t_ns, first.t_ns)} after the "
                f"application refused it, expected at least {window.earliest_ns / MS:.0f} ms",
                first,
                event,
            )
            return
        start_ns = self._from(waiting, window)
        if start_ns is None:
            return
        if late("nack-late", start_ns + window.latest_ns, event.t_ns):
            self.suspect(
                "nack-late",
                start_ns,
                event.t_ns,
                "too-late",
                f"consumer {handle} asked for {last.entry} again {elapsed(event.t_ns, last.called_ns)} after the "
                f"application refused it, expected within {window.latest_ns / MS:.0f} ms",
                last.invoke,
                event,
            )
        else:
            self.exercise(event)

    def _from(self, waiting: _Refused, window: Window) -> int | None:
        """When the upper bound starts to run; None where there is none."""
        last = waiting.last
        if last.operation.outcome is not Outcome.OK or waiting.excused or buries(self.view, last.consumer):
            return None
        start_ns = last.called_ns
        for refused_ns in self._refusals_ns.get(last.consumer.handle, ()):
            if start_ns < refused_ns <= start_ns + window.latest_ns:
                start_ns = refused_ns
        return start_ns
