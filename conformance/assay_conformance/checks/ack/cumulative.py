"""Acknowledging everything up to a message: the greatest counts, and it never goes back."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.ack.batches import index_ack_off
from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    LEAST_INTERVAL_MS,
    REFUSED,
    ConsumerCheck,
    SessionKey,
    elapsed,
    entry_on,
    from_client,
    late,
    number_in_force,
    of_batch,
    session_key,
    to_client,
)
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.model.event import Completion, Event, Frame, Invoke, Outcome
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


class GreatestOnly(ConsumerCheck):
    """A cumulative ACK carries a greatest-so-far of the calls; one flush carries one.

    A call that the client refused (on a shared subscription, say) was none. A cumulative ack inside a batch may name
    the entry before, and one of unknown outcome may have been taken or not, so a session with one is not judged.
    """

    requirement = RequirementId("ack.cumulative-keeps-greatest")

    def start(self) -> None:
        self._sessions: dict[SessionKey, _Cumulative] = {}
        self._reached: dict[tuple[int, str], Entry] = {}
        """By calls on sessions that are over, or on none: a client need not send what does not go beyond."""

    def asked(self, call: Call) -> None:
        session = self.session_of(call)
        outcome = self.tracker.foresight.outcomes.get(call.invoke.op)
        if call.cumulative and session is None:
            self._reach_on(call)
        if not call.cumulative or session is None or outcome in REFUSED:
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


@dataclass(slots=True)
class _Reach:
    """How far an application has settled one topic cumulatively, in one session.

    `whole`: entries settled to the last message; `inside`: those whose batch it stopped inside, by its last call;
    `owed`: of these, the ones whose entry before is still to be acknowledged. `sizes`: messages in what arrived.
    """

    whole: set[Entry] = field(default_factory=set)
    inside: dict[Entry, Call] = field(default_factory=dict)
    owed: dict[Entry, Call] = field(default_factory=dict)
    settled: dict[Entry, set[int]] = field(default_factory=dict)
    sizes: dict[Entry, int] = field(default_factory=dict)
    acked: set[Entry] = field(default_factory=set)
    sent: dict[Entry, Frame] = field(default_factory=dict)


class InsideBatch(ConsumerCheck):
    """A cumulative ACK names an entry only when the application has reached its last message.

    What it stopped inside of, the entry before stands for: one ACK of that, unless it was acknowledged otherwise.
    """

    requirement = RequirementId("ack.cumulative-inside-batch")

    def start(self) -> None:
        self._sessions: dict[SessionKey, _Reach] = {}

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and to_client(event):
            state = self._sessions.setdefault(session_key(session), _Reach())
            size = None if event.meta is None else event.meta.batch
            state.sizes[entry_on(session, event.ids[0])] = size or 1

    def asked(self, call: Call) -> None:
        session = self.session_of(call)
        if call.invoke.verb != "ack" or session is None or not index_ack_off(self.view, call.consumer):
            return
        state = self._sessions.setdefault(session_key(session), _Reach())
        id = call.message.message_id
        settled = state.settled.setdefault(call.entry, set())
        size = state.sizes.get(call.entry)
        settled.update(range(id.batch_index + 1) if call.cumulative else (id.batch_index,))
        if not of_batch(id) or (size is not None and len(settled) >= size):
            state.acked.add(call.entry)
            if call.cumulative:
                state.whole.add(call.entry)
        elif call.cumulative:
            state.inside[call.entry] = call
            last = before(call.entry)
            sent = any(entry >= last for entry in state.sent)
            if last in state.sizes and last not in state.acked and not sent:
                state.owed.setdefault(call.entry, call)

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        state = None if session is None else self._sessions.get(session_key(session))
        if session is None or session.consumer is None or state is None or not from_client(event):
            return
        if event.ack_type != "Cumulative" or not event.ids or not index_ack_off(self.view, session.consumer):
            return
        entry = entry_on(session, event.ids[0])
        for stopped in [stopped for stopped in state.owed if before(stopped) <= entry]:
            self._taken(state.owed.pop(stopped), event)
        if any(entry <= whole for whole in state.whole):
            state.sent[entry] = event
            return
        inside = state.inside.get(entry)
        if inside is not None and not any(entry <= before(stopped) for stopped in state.inside):
            handle, index = inside.consumer.handle, inside.message.message_id.batch_index
            self.breach(
                "whole-entry-acked",
                f"consumer {handle} was told to acknowledge up to message {index} of batch {entry} and sent a "
                f"cumulative ACK of all of it at {ms(event.t_ns)}: the messages behind can never be redelivered",
                inside.invoke,
                event,
            )
        elif entry in state.sent:
            self._sent_again(state.sent[entry], entry, event)
        state.sent[entry] = event

    def _sent_again(self, first: Frame, entry: Entry, event: Frame) -> None:
        self.breach(
            "sent-again",
            f"the client sent a cumulative ACK of {entry} at {ms(first.t_ns)} and again at {ms(event.t_ns)}, expected "
            "one: the application went on inside the batch behind it",
            first,
            event,
        )

    def over(self, session: ConsumerSession, event: Event) -> None:
        state = self._sessions.pop(session_key(session), None)
        if state is not None and isinstance(event, Frame) and from_client(event):
            for call in state.owed.values():
                self._taken(call, event, settled=False)

    def _taken(self, call: Call, event: Frame, settled: bool = True) -> None:
        """The entry before was acknowledged by `event`, or could no longer be."""
        completion = call.operation.completion
        interval_ms = number_in_force(self.view, call.consumer, "ack_group_ms")
        told = completion is not None and completion.outcome is Outcome.OK
        if interval_ms is None or (not told and not settled):
            return
        told_ns = event.t_ns if completion is None else completion.t_ns
        if late("ack-flush", told_ns + interval_ms * MS, event.t_ns):
            self.suspect(
                "ack-flush",
                told_ns,
                event.t_ns,
                "entry-before-not-acked",
                f"consumer {call.consumer.handle} was told by {ms(told_ns)} to acknowledge up to message "
                f"{call.message.message_id.batch_index} of batch {call.entry} and had sent no cumulative ACK of "
                f"{before(call.entry)}, the entry before, until {ms(event.t_ns)}",
                call.invoke,
                event,
            )
        elif settled:
            self.exercise(event)


def before(entry: Entry) -> Entry:
    return entry._replace(entry=entry.entry - 1)


class NoneOnShared(ConsumerCheck):
    """Judged by how the call ended, and by what was sent."""

    requirement = RequirementId("ack.no-cumulative-on-shared")

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
