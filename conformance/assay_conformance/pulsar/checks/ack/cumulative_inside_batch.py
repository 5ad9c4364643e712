"""Acknowledging everything up to a message inside a batch, which the broker can settle as a whole only."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    GROUPS,
    ConsumerCheck,
    SessionKey,
    entry_on,
    from_client,
    holds_acks,
    late,
    number_in_force,
    of_batch,
    session_key,
    to_client,
)
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.model.event import Event, Frame, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.ack._batch_index import index_ack_off


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


class CumulativeInsideBatch(ConsumerCheck):
    """A cumulative ACK names an entry only when the application has reached its last message.

    What it stopped inside of, the entry before stands for: one ACK of that, unless it was acknowledged otherwise.
    """

    requirement = RequirementId("ack.cumulative-inside-batch")
    needs = (Trait.BATCH,)

    def start(self) -> None:
        self._sessions: dict[SessionKey, _Reach] = {}
        self._reached: dict[tuple[int, str], Entry] = {}
        self._sizes: dict[tuple[int, Entry], int] = {}
        self._settled: dict[tuple[int, Entry], set[int]] = {}
        """In whichever delivery of the entry, on whatever session."""

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and to_client(event):
            state = self._sessions.setdefault(session_key(session), _Reach())
            size = None if event.meta is None else event.meta.batch
            state.sizes[entry_on(session, event.ids[0])] = size or 1
            self._sizes[session.consumer.handle, entry_on(session, event.ids[0])] = size or 1

    def asked(self, call: Call) -> None:
        session = self.session_of(call)
        if call.invoke.verb != "ack" or not index_ack_off(self.view, call.consumer):
            return
        index = call.message.message_id.batch_index
        ever = self._settled.setdefault((call.consumer.handle, call.entry), set())
        ever.update(range(max(index, 0) + 1) if call.cumulative else (max(index, 0),))
        reached = self._reach_on(call) if call.cumulative else None
        if session is None:
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
            goes_on = (reached is None or reached < last) and not any(entry >= last for entry in state.sent)
            if goes_on and last in state.sizes and last not in state.acked:
                state.owed.setdefault(call.entry, call)

    def _is_settled(self, handle: int, entry: Entry) -> bool:
        return len(self._settled.get((handle, entry), ())) >= self._sizes.get((handle, entry), 1)

    def _reach_on(self, call: Call) -> Entry | None:
        """How far earlier calls reached, on whatever session: what does not go beyond need not be sent again."""
        place = (call.consumer.handle, call.entry.topic)
        reached = self._reached.get(place)
        whole = not of_batch(call.message.message_id) or self._is_settled(place[0], call.entry)
        furthest = call.entry if whole else before(call.entry)
        self._reached[place] = furthest if reached is None else max(reached, furthest)
        return reached

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
        covered = any(entry <= before(stopped) for stopped in state.inside)
        if inside is not None and not covered and not self._is_settled(session.consumer.handle, entry):
            handle, index = inside.consumer.handle, inside.message.message_id.batch_index
            self.breach(
                "whole-entry-acked",
                f"consumer {handle} was told to acknowledge up to message {index} of batch {entry} and sent a "
                f"cumulative ACK of all of it at {ms(event.t_ns)}: the messages behind can never be redelivered",
                inside.invoke,
                event,
            )
        elif entry in state.sent and holds_acks(self.view, session.consumer):
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
        if interval_ms is None and GROUPS not in self.view.facts.capabilities:
            interval_ms = 0
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
