from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.checks.consumption import elapsed, of_batch
from assay_conformance.model.event import Completion, Event, Frame
from assay_conformance.pulsar.timeline import MS, Call, Consumer, Entry, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.moments import AckWritten, SessionOver, SettleCalled, SettleCompleted, named_by


@dataclass(slots=True)
class _Gathering:
    """Entries asked for and not sent; `full` are those that waited when a group was full, since `since`."""

    waiting: dict[Entry, Call] = field(default_factory=dict)
    full: set[Entry] = field(default_factory=set)
    since: Completion | None = None


class _Group(NamedTuple):
    """A full group of `size`, since a call ended; without `since`: one that left before a timer could have sent it.
    `then`: the first ACK of it, or the end of its session."""

    consumer: Consumer
    size: int
    since: Completion | None
    then: Event


def _groups(timeline: Timeline) -> Iterator[_Group]:
    for consumer in timeline.consumers:
        if timeline.setting(consumer, "ack_group_max") and timeline.calls(consumer):
            yield from _groups_of(timeline, consumer)


def _groups_of(timeline: Timeline, consumer: Consumer) -> Iterator[_Group]:
    sessions: dict[int, _Gathering] = {}
    for moment in timeline.moments(consumer):
        if isinstance(moment, SettleCalled):
            call = moment.call
            is_kept = not of_batch(call.message.message_id) or timeline.setting(consumer, "batch_index_ack")
            if is_kept and not moment.is_nack and not call.cumulative and moment.session is not None:
                sessions.setdefault(id(moment.session), _Gathering()).waiting[call.entry] = call
        elif isinstance(moment, SettleCompleted):
            _fills(timeline, sessions, moment)
        elif isinstance(moment, AckWritten) and id(moment.session) in sessions and not moment.is_cumulative:
            yield from _leave(timeline, consumer, sessions[id(moment.session)], moment)
        elif isinstance(moment, SessionOver):
            state = sessions.pop(id(moment.session), None)
            if state is not None and state.since is not None:
                yield _Group(consumer, len(state.full), state.since, moment.event)


def _fills(timeline: Timeline, sessions: dict[int, _Gathering], called: SettleCompleted) -> None:
    """Note a call that may fill the group.

    It is full, at the latest, when a call has ended and so many entries wait.
    """
    is_last = timeline.calls_of(called.event)[-1] is called.call
    state = sessions.get(id(called.session)) if is_last and not called.is_nack else None
    largest = timeline.setting(called.call.consumer, "ack_group_max")
    if state is not None and largest and not state.full and len(state.waiting) >= largest:
        state.full, state.since = set(state.waiting), called.event


def _leave(timeline: Timeline, consumer: Consumer, state: _Gathering, wrote: AckWritten) -> Iterator[_Group]:
    named = named_by(wrote.event, wrote.session)
    settled = named & state.waiting.keys()
    if state.since is not None and settled & state.full:
        yield _Group(consumer, len(state.full), state.since, wrote.event)
        state.full, state.since = set(), None
    elif _is_full(timeline, consumer, [state.waiting[entry] for entry in settled], wrote.event):
        yield _Group(consumer, len(settled), None, wrote.event)
    for entry in settled:
        del state.waiting[entry]


def _is_full(timeline: Timeline, consumer: Consumer, calls: Iterable[Call], ack: Event) -> bool:
    """Return whether as many wait as a group takes, sooner than a timer set by the first of them."""
    largest, interval_ms = timeline.setting(consumer, "ack_group_max"), timeline.setting(consumer, "ack_group_ms")
    asked_ns = [call.invoke.t_ns for call in calls]
    if not largest or not interval_ms or len(asked_ns) < largest:
        return False
    return ack.t_ns < min(asked_ns) + interval_ms * MS


@check("ack.full-group-flushed-at-once", of=_groups)
def full_group_flushed_at_once(timeline: Timeline, group: _Group) -> Says:
    """ack.full-group-flushed-at-once: a full group of acknowledgments leaves at once, without waiting for its timer."""
    consumer, size, since, then = group
    if since is None or not timeline.bounds.is_overdue("at-once", since.t_ns, then.t_ns, what="a full group"):
        if isinstance(then, Frame) and then.command == "ACK":
            yield Exercised(then)
        return
    yield breach(
        "full-group-waited",
        f"consumer {consumer.handle} held {size} acknowledgments at {ms(since.t_ns)}, a full group, and sent none of "
        f"them for {elapsed(then.t_ns, since.t_ns)}, expected them to leave at once",
        *(since, then),
    )
