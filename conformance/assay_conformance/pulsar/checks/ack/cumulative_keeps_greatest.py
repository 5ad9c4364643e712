from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.checks.consumption import LEAST_INTERVAL_MS, REFUSED, elapsed, holds_acks, of_batch
from assay_conformance.model.event import Frame, Outcome
from assay_conformance.pulsar.checks.ack._owed import never_left
from assay_conformance.pulsar.timeline import (
    MS,
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
from assay_conformance.pulsar.timeline.moments import AckWritten, SessionOver, SettleCalled


@dataclass(slots=True)
class _Session:
    """Cumulative calls of one session. `records` are those that were the greatest when they came; `waiting` those since
    the last one that was sent."""

    named: set[Entry] = field(default_factory=set)
    records: dict[Entry, Call] = field(default_factory=dict)
    greatest: Call | None = None
    waiting: list[Call] = field(default_factory=list)
    last: tuple[Frame, Call] | None = None
    unclear: bool = False

    def asks(self, call: Call) -> None:
        """Note a call.

        A cumulative ack inside a batch may name the entry before, and one of unknown outcome may have been taken or
        not: a session with one is not judged.
        """
        end = call.operation.completion
        unknown = end is None or end.outcome is not Outcome.OK
        self.unclear = self.unclear or of_batch(call.message.message_id) or unknown
        self.named.add(call.entry)
        self.waiting.append(call)
        if self.greatest is None or call.entry > self.greatest.entry:
            self.greatest = self.records[call.entry] = call


class _Ack(NamedTuple):
    """A cumulative ACK of an entry that a call named. `greatest`: the greatest call by then; `record`: the one that it
    carries, if that was the greatest when it came; `last`: the ACK before, and what that carried; `merges`: smaller
    ones waited with it."""

    frame: Frame
    entry: Entry
    greatest: Call
    record: Call | None
    last: tuple[Frame, Call] | None
    merges: bool


def _walk(timeline: Timeline, consumer: Consumer) -> Says:
    """Judge what happened to the messages of a consumer.

    `reached`: by calls on sessions that are over, or on none; a client need not send what does not go beyond.
    """
    sessions: dict[int, _Session] = {}
    reached: dict[str, Entry] = {}
    holds = holds_acks(timeline.view, consumer)
    for moment in timeline.moments(consumer):
        if isinstance(moment, SettleCalled) and moment.call.cumulative:
            end = moment.call.operation.completion
            refused = end is not None and end.outcome in REFUSED
            if moment.session is None:
                _reach(reached, moment.entry)
            elif holds and not refused:
                sessions.setdefault(id(moment.session), _Session()).asks(moment.call)
        elif isinstance(moment, AckWritten) and moment.is_cumulative and moment.event.ids:
            yield from each(_acks(sessions.get(id(moment.session)), moment), _judge_greatest, timeline)
        elif isinstance(moment, SessionOver):
            state = sessions.pop(id(moment.session), _Session())
            if state.greatest is not None:
                before = reached.get(moment.session.topic)
                _reach(reached, state.greatest.entry)
                if before is None or state.greatest.entry > before:
                    yield from _left(timeline, state, state.greatest, moment.by_client)


def _reach(reached: dict[str, Entry], entry: Entry) -> None:
    reached[entry.topic] = max(reached.get(entry.topic, entry), entry)


def _acks(state: _Session | None, wrote: AckWritten) -> Iterator[_Ack]:
    entry = wrote.reached
    if state is None or state.unclear or state.greatest is None or entry not in state.named:
        return
    record = state.records.get(entry)
    merges = any(call.entry < entry for call in state.waiting)
    yield _Ack(wrote.event, entry, state.greatest, record, state.last, merges)
    if record is not None:
        state.last = (wrote.event, record)
        if record in state.waiting:
            del state.waiting[: state.waiting.index(record) + 1]


def _left(timeline: Timeline, state: _Session, greatest: Call, end: Frame | None) -> Says:
    """Judge whether the greatest call of a session had not been sent when the client ended it."""
    sent = state.last is not None and state.last[1].entry >= greatest.entry
    if not state.unclear and not sent and end is not None:
        yield from each([greatest], _judge_forgotten, timeline, end)


@check("ack.cumulative-keeps-greatest")
def cumulative_keeps_greatest(timeline: Timeline) -> Says:
    """ack.cumulative-keeps-greatest: a cumulative ACK carries the greatest position acknowledged so far, and a flush
    sends one.

    A call that the client rejected (on a shared subscription, say) does not count.
    """
    cumulative = {ack.handle for ack in timeline.ack_calls if ack.call.cumulative}
    for consumer in timeline.consumers:
        if consumer.handle in cumulative:
            yield from _walk(timeline, consumer)


def _judge_greatest(timeline: Timeline, ack: _Ack) -> Says:
    frame, entry, greatest, record, last, merges = ack
    if record is None:
        yield breach(
            "smaller-sent",
            f"consumer {greatest.consumer.handle} was asked to acknowledge up to {greatest.entry}, and also up to "
            f"{entry}; it sent a cumulative ACK of {entry} at {ms(frame.t_ns)}, expected the smaller one ignored",
            *(greatest.invoke, frame),
        )
    elif last is not None and _is_second(timeline, record, last, frame):
        first, before = last
        since_ns = first.t_ns - (timeline.setting(record.consumer, "ack_group_ms") or 0) * MS
        timeline.bounds.check_fair("ack-flush", since_ns, frame.t_ns, what="whether two ACKs are one flush")
        yield breach(
            "not-merged",
            f"consumer {record.consumer.handle} sent cumulative ACKs of {before.entry} and {record.entry} "
            f"{elapsed(frame.t_ns, first.t_ns)} apart, expected one, of {record.entry}: both were asked for together",
            *(record.invoke, first, frame),
        )
    elif merges:
        yield Exercised(frame)


def _is_second(timeline: Timeline, record: Call, last: tuple[Frame, Call], frame: Frame) -> bool:
    """Return whether a second cumulative ACK came soon after the first, of a call that the first could carry."""
    interval_ms, (first, before) = timeline.setting(record.consumer, "ack_group_ms") or 0, last
    together = record.operation is before.operation and record.entry != before.entry
    return interval_ms >= LEAST_INTERVAL_MS and together and frame.t_ns - first.t_ns <= interval_ms * MS / 4


def _judge_forgotten(timeline: Timeline, end: Frame, call: Call) -> Says:
    taken, what = call.operation.completion, f"up to {call.entry}"
    if taken is not None and taken.seq < end.seq:
        ack = "a cumulative ACK that reaches it"
        yield from never_left(timeline, "greatest-never-sent", call, taken.t_ns, end, what, ack)
