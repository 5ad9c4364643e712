"""ack.full-group-flushed-at-once"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    SessionKey,
    acked_entries,
    elapsed,
    late,
    number_in_force,
    of_batch,
    session_key,
)
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.checks.written import AckCheck, Written
from assay_conformance.model.event import Completion, Event, Frame, Outcome
from assay_conformance.model.requirement import RequirementId


@dataclass(slots=True)
class _Gathering:
    """Entries asked for and not sent; `full` are those that waited when a group was full, since `since`."""

    waiting: dict[Entry, Call] = field(default_factory=dict)
    full: set[Entry] = field(default_factory=set)
    since: Completion | None = None


class FullGroupFlushedAtOnce(AckCheck):
    """The group is full, at the latest, when a call has completed and so many entries wait."""

    requirement = RequirementId("ack.full-group-flushed-at-once")
    skips_plain = True

    def start(self) -> None:
        self._sessions: dict[SessionKey, _Gathering] = {}

    def asked(self, call: Call) -> None:
        session = self.session_of(call)
        fit = call.invoke.verb == "ack" and not call.cumulative and not of_batch(call.message.message_id)
        if fit and session is not None:
            self._of(session).waiting[call.entry] = call

    def _of(self, session: ConsumerSession) -> _Gathering:
        state = self._sessions.get(session_key(session))
        if state is None:
            state = self._sessions[session_key(session)] = _Gathering()
        return state

    @on(Completion, "ack")
    def completed(self, event: Completion) -> None:
        calls = self.tracker.calls.get(event.op, ())
        if event.outcome is not Outcome.OK or not calls:
            return
        session = self.session_of(calls[-1])
        state = None if session is None else self._sessions.get(session_key(session))
        largest = number_in_force(self.view, calls[-1].consumer, "ack_group_max")
        if state is not None and largest and not state.full and len(state.waiting) >= largest:
            state.full, state.since = set(state.waiting), event

    def acked(self, ack: Written) -> None:
        consumer, session, event = ack
        state = self._sessions.get(session_key(session))
        if state is None or event.ack_type == "Cumulative":
            return
        settled = set(acked_entries(session, event)) & state.waiting.keys()
        if state.since is not None and settled & state.full:
            self._judge(state, state.since, consumer, event)
        elif self._left_full(consumer, [state.waiting[entry] for entry in settled], event):
            self.exercise(event)
        for entry in settled:
            del state.waiting[entry]

    def _judge(self, state: _Gathering, since: Completion, consumer: OpenedConsumer, event: Event) -> None:
        if late("at-once", since.t_ns, event.t_ns):
            self.suspect(
                "at-once",
                since.t_ns,
                event.t_ns,
                "full-group-waited",
                f"consumer {consumer.handle} held {len(state.full)} acknowledgments at {ms(since.t_ns)}, a full group, "
                f"and sent none of them for {elapsed(event.t_ns, since.t_ns)}, expected them to leave at once",
                since,
                event,
            )
        else:
            self.exercise(event)
        state.full, state.since = set(), None

    def _left_full(self, consumer: OpenedConsumer, calls: list[Call], event: Frame) -> bool:
        """As many as a group takes, sooner than a timer set by the first of them."""
        largest = number_in_force(self.view, consumer, "ack_group_max")
        interval_ms = number_in_force(self.view, consumer, "ack_group_ms")
        if not largest or not interval_ms or len(calls) < largest:
            return False
        return event.t_ns < min(call.invoke.t_ns for call in calls) + interval_ms * MS

    def over(self, session: ConsumerSession, event: Event) -> None:
        state = self._sessions.pop(session_key(session), None)
        if state is None or state.since is None or session.consumer is None:
            return
        if late("at-once", state.since.t_ns, event.t_ns):
            self._judge(state, state.since, session.consumer, event)
