from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import elapsed, moves_to_dead_letter
from assay_conformance.checks.tracker import Call
from assay_conformance.model.event import Event
from assay_conformance.pulsar.checks.nack._windows import window_of
from assay_conformance.pulsar.timeline import Consumer, Entry, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.moments import RedeliverWritten, SettleCalled, SettleCompleted, taken


class _Waited(NamedTuple):
    """A nack that waited until `event`, and when `others` followed it."""

    call: Call
    due_ns: int
    others: list[int]
    event: Event


def _nacks(timeline: Timeline) -> Iterator[_Waited]:
    """Yield every nack whose message was requested, or overdue when its session ended."""
    for consumer in timeline.nacking:
        window = window_of(timeline.view, consumer)
        if window is not None and not moves_to_dead_letter(timeline.view, consumer):
            yield from _waited(timeline, consumer, window.latest_ns)


def _waited(timeline: Timeline, consumer: Consumer, latest_ns: int) -> Iterator[_Waited]:
    waiting: dict[Entry, tuple[Call, list[int]]] = {}
    for moment in timeline.moments(consumer):
        for _, (call, others) in taken(waiting, moment):
            due_ns = call.called_ns + latest_ns
            if isinstance(moment, RedeliverWritten) or timeline.bounds.is_past("nack-late", due_ns, moment.event.t_ns):
                yield _Waited(call, due_ns, others, moment.event)
        if isinstance(moment, SettleCalled) and not moment.is_nack:
            waiting = {entry: one for entry, one in waiting.items() if not moment.call.covers(entry)}
        elif isinstance(moment, SettleCompleted) and moment.is_nack and moment.session is not None:
            call = moment.call
            for entry in waiting.keys() - {call.entry}:
                waiting[entry][1].append(call.called_ns)
            if waiting.pop(call.entry, None) is None:  # One nacked twice may wait for the second time.
                waiting[call.entry] = (call, [])


@check("nack.later-nacks-do-not-postpone", of=_nacks)
def later_nacks_do_not_postpone(timeline: Timeline, waited: _Waited) -> Says:
    """nack.later-nacks-do-not-postpone: each negative acknowledgment keeps its own upper bound. Judged where others
    followed within that time, so often that a timer which each of them restarts would not have fired."""
    call, due_ns, others, event = waited
    if not any(call.called_ns < other_ns < due_ns for other_ns in others):
        return
    if not timeline.bounds.is_past("nack-late", due_ns, event.t_ns):
        yield Exercised(event)
        return
    timeline.bounds.check_fair("nack-late", call.called_ns, event.t_ns, what="whether a nack was postponed")
    yield breach(
        "postponed",
        f"the application nacked {call.entry} on consumer {call.consumer.handle} at {ms(call.called_ns)}, and "
        f"{len(others)} other messages after it; expected a request for its redelivery within "
        f"{elapsed(due_ns, call.called_ns)} of its nack; there was none by {ms(event.t_ns)}",
        *(call.invoke, event),
    )
