from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.consumption import GROUPS, holds_acks, of_batch
from assay_conformance.model.event import Event, Frame, Outcome
from assay_conformance.pulsar.checks.ack._batch_index import batched_consumers
from assay_conformance.pulsar.timeline import (
    CUMULATIVE,
    Call,
    Consumer,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    each,
    ms,
)
from assay_conformance.pulsar.timeline.moments import AckWritten, Dispatched, SessionOver, SettleCalled


@dataclass(slots=True)
class _Reach:
    """How far an application has settled one topic cumulatively, in one session.

    `came`: what arrived; `whole`: entries settled to the last message; `inside`: those whose batch it stopped inside,
    by its last call; `owed`: of these, the ones whose entry before is still to be acknowledged.
    """

    came: set[Entry] = field(default_factory=set)
    whole: set[Entry] = field(default_factory=set)
    inside: dict[Entry, Call] = field(default_factory=dict)
    owed: dict[Entry, Call] = field(default_factory=dict)
    acked: set[Entry] = field(default_factory=set)
    sent: dict[Entry, Frame] = field(default_factory=dict)


class _Walk:
    """Of one consumer. `reached` is of whatever delivery, on whatever session."""

    def __init__(self, timeline: Timeline, consumer: Consumer) -> None:
        self._timeline = timeline
        self._holds = holds_acks(timeline.view, consumer)
        self._moments = timeline.moments(consumer)
        self._sessions: dict[int, _Reach] = {}
        self._reached: dict[str, Entry] = {}
        self._batches = timeline.batch_entries(consumer)

    def says(self) -> Says:
        for moment in self._moments:
            if isinstance(moment, Dispatched) and moment.event.to_receiver:
                self._of(moment).came.add(moment.entry)
            elif isinstance(moment, SettleCalled) and not moment.is_nack:
                self._asks(moment)
            elif isinstance(moment, AckWritten) and moment.is_cumulative and moment.event.ids:
                if id(moment.session) in self._sessions:
                    yield from self._acks(self._of(moment), moment.reached, moment.event)
            elif isinstance(moment, SessionOver):
                state = self._sessions.pop(id(moment.session), None)
                if state is not None and moment.by_client is not None:
                    yield from each(state.owed.values(), _leaves_in_time, self._timeline, moment.by_client)

    def _of(self, moment: Dispatched | SettleCalled | AckWritten) -> _Reach:
        return self._sessions.setdefault(id(moment.session), _Reach())

    def _asks(self, asked: SettleCalled) -> None:
        call, entry, id = asked.call, asked.entry, asked.call.message.message_id
        before = self._reach_on(call) if call.cumulative else None
        if asked.session is None:
            return
        state = self._of(asked)
        if not of_batch(id) or self._is_settled(entry, asked.event):
            state.acked.add(entry)
            if call.cumulative:
                state.whole.add(entry)
        elif call.cumulative:
            state.inside[entry] = call
            last = _before(entry)
            goes_on = (before is None or before < last) and not any(sent >= last for sent in state.sent)
            if goes_on and last in state.came and last not in state.acked:
                state.owed.setdefault(entry, call)

    def _is_settled(self, entry: Entry, by: Event) -> bool:
        """Return whether the application had acknowledged a batch to its last message, in whichever delivery."""
        batch = self._batches.get(entry)
        return batch is None or len(batch.acked(by)) >= batch.size

    def _reach_on(self, call: Call) -> Entry | None:
        """Return how far earlier calls reached: what does not go beyond need not be sent again."""
        reached = self._reached.get(call.entry.topic)
        whole = not of_batch(call.message.message_id) or self._is_settled(
            call.entry, call.operation.completion or call.invoke
        )
        furthest = call.entry if whole else _before(call.entry)
        self._reached[call.entry.topic] = furthest if reached is None else max(reached, furthest)
        return reached

    def _acks(self, state: _Reach, entry: Entry, ack: Frame) -> Says:
        due = [state.owed.pop(stopped) for stopped in [*state.owed] if _before(stopped) <= entry]
        yield from each(due, _leaves_in_time, self._timeline, ack)
        first, inside = state.sent.get(entry), state.inside.get(entry)
        state.sent[entry] = ack
        if any(entry <= whole for whole in state.whole):
            return
        covered = any(entry <= _before(stopped) for stopped in state.inside)
        if inside is not None and not covered and not self._is_settled(entry, ack):
            yield breach(
                "whole-entry-acked",
                f"consumer {inside.consumer.handle} was asked to acknowledge up to message "
                f"{inside.message.message_id.batch_index} of batch {inside.entry}; expected no ACK of the whole "
                f"batch; it sent a cumulative one at {ms(ack.t_ns)}: the later messages can never be redelivered",
                *(inside.invoke, ack),
            )
        elif first is not None and self._holds:
            yield breach(
                "sent-again",
                f"the client sent a cumulative ACK of {entry} at {ms(first.t_ns)} and again at {ms(ack.t_ns)}, "
                "expected one: the application had only acknowledged more messages of the batch after it",
                *(first, ack),
            )


def _before(entry: Entry) -> Entry:
    return entry._replace(entry=entry.entry - 1)


@check("ack.cumulative-inside-batch")
def cumulative_inside_batch(timeline: Timeline) -> Says:
    """ack.cumulative-inside-batch: a cumulative ACK names an entry only when the application has acknowledged up to its
    last message. For a position inside a batch the client sends one ACK of the previous entry, unless that was
    acknowledged otherwise."""
    asked = any(ack.call.cumulative for ack in timeline.ack_calls)
    if asked or any(ack.ack_type == CUMULATIVE for ack in timeline.events.frames("ACK")):
        for consumer in batched_consumers(timeline, index_ack=False):
            yield from _Walk(timeline, consumer).says()


def _leaves_in_time(timeline: Timeline, then: Frame, call: Call) -> Says:
    """Judge a call that stopped inside a batch.

    `then`: the ACK of the entry before, or the end of the session without it.
    """
    completion, interval_ns = call.operation.completion, timeline.ack_interval_ns(call.consumer)
    end = completion if completion is not None and completion.seq < then.seq else None
    is_owed = then.command == "ACK" or (end is not None and end.outcome is Outcome.OK)
    if not is_owed or (interval_ns is None and timeline.can(GROUPS)):
        return
    called_ns = then.t_ns if end is None else end.t_ns
    due_ns = called_ns + (interval_ns or 0)
    if timeline.bounds.is_overdue("ack-flush", called_ns, then.t_ns, due_ns=due_ns, what="an ACK"):
        yield breach(
            "entry-before-not-acked",
            f"consumer {call.consumer.handle} had been asked to acknowledge up to message "
            f"{call.message.message_id.batch_index} of batch {call.entry} before {ms(called_ns)}; expected a "
            f"cumulative ACK of {_before(call.entry)}, the entry before; there was none before {ms(then.t_ns)}",
            *(call.invoke, then),
        )
    elif then.command == "ACK":
        yield Exercised(then)
