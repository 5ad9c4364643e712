"""ack.cumulative-keeps-greatest"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    LEAST_INTERVAL_MS,
    REFUSED,
    ConsumerCheck,
    SessionKey,
    elapsed,
    entry_on,
    from_client,
    holds_acks,
    late,
    number_in_force,
    of_batch,
    session_key,
)
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.model.event import Event, Frame, Outcome
from assay_conformance.model.requirement import RequirementId


@dataclass(slots=True)
class _Cumulative:
    """Cumulative calls of one session. `records` are those that were the greatest when they came; `waiting` those since
    the last one that was sent."""

    named: set[Entry] = field(default_factory=set)
    records: dict[Entry, Call] = field(default_factory=dict)
    greatest: Call | None = None
    waiting: list[Call] = field(default_factory=list)
    last: tuple[Frame, Call] | None = None
    unclear: bool = False


class CumulativeKeepsGreatest(ConsumerCheck):
    """A cumulative ACK carries a greatest-so-far of the calls; one flush carries one.

    A call that the client refused (on a shared subscription, say) was none. A cumulative ack inside a batch may name
    the entry before, and one of unknown outcome may have been taken or not, so a session with one is not judged.
    """

    requirement = RequirementId("ack.cumulative-keeps-greatest")
    needs = (Trait.CUMULATIVE,)

    def start(self) -> None:
        self._sessions: dict[SessionKey, _Cumulative] = {}
        self._reached: dict[tuple[int, str], Entry] = {}
        """By calls on sessions that are over, or on none: a client need not send what does not go beyond."""

    def asked(self, call: Call) -> None:
        session = self.session_of(call)
        outcome = self.tracker.foresight.outcomes.get(call.invoke.op)
        if call.cumulative and session is None:
            self._reach_on(call)
        if not call.cumulative or session is None or outcome in REFUSED or not holds_acks(self.view, call.consumer):
            return
        state = self._sessions.setdefault(session_key(session), _Cumulative())
        state.unclear = state.unclear or of_batch(call.message.message_id) or outcome is not Outcome.OK
        state.named.add(call.entry)
        state.waiting.append(call)
        if state.greatest is None or call.entry > state.greatest.entry:
            state.greatest = state.records[call.entry] = call

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or event.ack_type != "Cumulative" or not from_client(event) or not event.ids:
            return
        state = self._sessions.get(session_key(session))
        entry = entry_on(session, event.ids[0])
        if state is None or state.unclear or state.greatest is None or entry not in state.named:
            return
        record = state.records.get(entry)
        if record is None:
            greater = state.greatest
            self.breach(
                "smaller-sent",
                f"consumer {greater.consumer.handle} was told to acknowledge up to {greater.entry}, and also up to "
                f"{entry}; it sent a cumulative ACK of {entry} at {ms(event.t_ns)}, expected the smaller one ignored",
                greater.invoke,
                event,
            )
            return
        if not self._sent_twice(state, record, event) and any(call.entry < entry for call in state.waiting):
            self.exercise(event)
        state.last = (event, record)
        if record in state.waiting:
            del state.waiting[: state.waiting.index(record) + 1]

    def over(self, session: ConsumerSession, event: Event) -> None:
        state = self._sessions.pop(session_key(session), _Cumulative())
        greatest = state.greatest
        if greatest is not None:
            reached = self._reached.get((greatest.consumer.handle, session.topic))
            self._reach_on(greatest)
            if reached is not None and greatest.entry <= reached:
                return
        if state.unclear or greatest is None or not isinstance(event, Frame) or not from_client(event):
            return
        completion = greatest.operation.completion
        interval_ms = number_in_force(self.view, greatest.consumer, "ack_group_ms")
        if completion is None or interval_ms is None or (state.last and state.last[1].entry >= greatest.entry):
            return
        if late("ack-flush", completion.t_ns + interval_ms * MS, event.t_ns):
            self.suspect(
                "ack-flush",
                completion.t_ns,
                event.t_ns,
                "greatest-never-sent",
                f"consumer {greatest.consumer.handle} was told at {ms(completion.t_ns)} to acknowledge up to "
                f"{greatest.entry} and closed at {ms(event.t_ns)} without a cumulative ACK that reaches it",
                greatest.invoke,
                event,
            )

    def _reach_on(self, call: Call) -> None:
        place = (call.consumer.handle, call.entry.topic)
        self._reached[place] = max(self._reached.get(place, call.entry), call.entry)

    def _sent_twice(self, state: _Cumulative, record: Call, event: Frame) -> bool:
        """A second cumulative ACK in a fraction of the interval, of a call that the first could have carried."""
        interval_ms = number_in_force(self.view, record.consumer, "ack_group_ms") or 0
        if state.last is None or interval_ms < LEAST_INTERVAL_MS:
            return False
        first, before = state.last
        together = record.operation is before.operation and record.entry != before.entry
        if not together or event.t_ns - first.t_ns > interval_ms * MS / 4:
            return False
        self.suspect(
            "ack-flush",
            first.t_ns - interval_ms * MS,
            event.t_ns,
            "not-merged",
            f"consumer {record.consumer.handle} sent cumulative ACKs of {before.entry} and {record.entry} "
            f"{elapsed(event.t_ns, first.t_ns)} apart, expected one, of {record.entry}: both were asked for together",
            record.invoke,
            first,
            event,
        )
        return True
