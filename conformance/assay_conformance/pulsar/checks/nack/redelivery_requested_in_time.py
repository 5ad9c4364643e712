from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, replace

from assay_conformance.checks.consumption import elapsed, moves_to_dead_letter
from assay_conformance.checks.tracker import Call
from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.checks.nack._timers import timed
from assay_conformance.pulsar.checks.nack._windows import Window, window_of
from assay_conformance.pulsar.timeline import (
    MS,
    REDELIVER,
    Consumer,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ms,
)
from assay_conformance.pulsar.timeline.moments import RedeliverWritten, SettleCalled, SettleCompleted, known_ns, taken


@dataclass(frozen=True, slots=True)
class _Nacked:
    """An entry that waits for its redelivery until `event`: nacked first, and last, by these calls. `since_ns`: where
    the upper bound starts, if there is one."""

    first: Call
    last: Call
    event: Event
    excused: bool = False
    early: bool = False
    since_ns: int | None = None

    @property
    def is_asked_for(self) -> bool:
        """Whether `event` is a request for it."""
        return isinstance(self.event, Frame) and self.event.command == REDELIVER


def _nacks(timeline: Timeline) -> Iterator[tuple[_Nacked, Window]]:
    for consumer in timeline.nacking:
        window = window_of(timeline.view, consumer)
        if window is not None:
            yield from ((one, window) for one in _ended(timeline, consumer, window))


def _ended(timeline: Timeline, consumer: Consumer, window: Window) -> Iterator[_Nacked]:
    waiting: dict[Entry, _Nacked] = {}
    acked: set[Entry] = set()
    called: list[int] = []
    buried = moves_to_dead_letter(timeline.view, consumer)

    def until(one: _Nacked, event: Event, *, early: bool) -> _Nacked:
        since_ns = None if one.excused or buried else _since_ns(one.last, event, called, window)
        return replace(one, event=event, early=early, since_ns=since_ns)

    for moment, due in timed(timeline, consumer, window):
        if isinstance(moment, SettleCalled):
            call = moment.call
            if not moment.is_nack:
                acked.add(call.entry)
                for entry in [entry for entry in waiting if call.covers(entry)]:
                    waiting[entry] = replace(waiting[entry], excused=True)
            elif call.entry not in acked and moment.session is not None:
                waiting[call.entry] = replace(waiting.get(call.entry, _Nacked(call, call, moment.event)), last=call)
        elif isinstance(moment, SettleCompleted) and moment.is_nack:
            insort(called, moment.call.called_ns)
        elif isinstance(moment, RedeliverWritten):
            found = taken(waiting, moment)
            oldest = min((one.first.invoke.t_ns, place) for place, (_, one) in enumerate(found))[1] if found else 0
            asked_for = found if moment.named else found[oldest : oldest + 1]
            for entry, one in asked_for if not moment.may_be_called_for else ():
                yield until(one, moment.event, early=not (entry in due if moment.named else due))
            if not moment.named:
                waiting.update({entry: replace(one, excused=True) for entry, one in found if entry not in due})
        else:
            yield from (until(one, moment.event, early=False) for _, one in taken(waiting, moment))


def _since_ns(last: Call, event: Event, called: list[int], window: Window) -> int | None:
    """Return since when it is due: from the last nack by its consumer.

    That later ones must not postpone earlier ones is another requirement.
    """
    since_ns = known_ns(last, event)
    for called_ns in called[bisect_right(called, since_ns) :] if since_ns is not None else ():
        if called_ns > (since_ns or 0) + window.latest_ns:
            break
        since_ns = called_ns
    return since_ns


@check("nack.redelivery-requested-in-time", of=_nacks)
def nack_redelivery_requested_in_time(timeline: Timeline, nack: tuple[_Nacked, Window]) -> Says:
    """nack.redelivery-requested-in-time: redelivery of a nacked message is requested not before its delay has passed,
    and not later than the delay and a tick.

    The lower bound counts from the command, the upper one from the last nack by this consumer. After an ack in between
    the client need not request it. A request is too early only when no timer that runs for its entry is due. One that
    names no entry requests all of them, and each of the nacks after it may lead to a request of its own. An entry with
    a message whose retry letter fails may be requested at once, and so may any whose dead letter may have failed.
    """
    nacked, window = nack
    first, last, event, since_ns = nacked.first, nacked.last, nacked.event, nacked.since_ns
    who, after = f"consumer {first.consumer.handle}", "after the application had nacked it; expected"
    if nacked.early:
        failed = timeline.letters.had_failed(first.consumer.subscription, event)
        if failed or timeline.setting(first.consumer, "ack_timeout_ms"):
            return
        waited = f"{who} requested redelivery of {first.entry} {elapsed(event.t_ns, first.invoke.t_ns)} {after}"
        yield breach("too-early", f"{waited} at least {window.earliest_ns / MS:.0f} ms", first.invoke, event)
    elif since_ns is None:
        return
    elif timeline.bounds.is_past("nack-late", since_ns + window.latest_ns, event.t_ns):
        timeline.bounds.check_fair("nack-late", since_ns, event.t_ns, what="whether a REDELIVER came too late")
        code, said = (
            "too-late",
            f"{who} requested redelivery of {last.entry} {elapsed(event.t_ns, last.called_ns)} {after}",
        )
        if not nacked.is_asked_for:
            code, said = (
                "never-requested",
                f"the application nacked {last.entry} on {who} at {ms(last.invoke.t_ns)}, ",
            )
            said += f"and the client had sent no REDELIVER of it by {ms(event.t_ns)}, expected one"
        yield breach(code, f"{said} within {window.latest_ns / MS:.0f} ms", last.invoke, event)
    elif nacked.is_asked_for:
        yield Exercised(event)
