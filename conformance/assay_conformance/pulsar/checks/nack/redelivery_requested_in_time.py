"""nack.redelivery-requested-in-time"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, replace

from assay_conformance.checks.consumption import buries, elapsed
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
from assay_conformance.pulsar.timeline.courses import Asked, Called, Redelivery, known_ns, taken


@dataclass(frozen=True, slots=True)
class _Refused:
    """An entry that waits for its redelivery until `event`: refused first, and last, by these calls. `since_ns`: where
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


def _refusals(timeline: Timeline) -> Iterator[tuple[_Refused, Window]]:
    for consumer in timeline.refusing:
        window = window_of(timeline.view, consumer)
        if window is not None:
            yield from ((one, window) for one in _ended(timeline, consumer, window))


def _ended(timeline: Timeline, consumer: Consumer, window: Window) -> Iterator[_Refused]:
    waiting: dict[Entry, _Refused] = {}
    acked: set[Entry] = set()
    called: list[int] = []
    buried = buries(timeline.view, consumer)

    def until(one: _Refused, event: Event, *, early: bool) -> _Refused:
        since_ns = None if one.excused or buried else _since_ns(one.last, event, called, window)
        return replace(one, event=event, early=early, since_ns=since_ns)

    for moment, due in timed(timeline, consumer, window):
        if isinstance(moment, Asked):
            call = moment.call
            if not moment.is_nack:
                acked.add(call.entry)
                for entry in [entry for entry in waiting if call.covers(entry)]:
                    waiting[entry] = replace(waiting[entry], excused=True)
            elif call.entry not in acked and moment.session is not None:
                waiting[call.entry] = replace(waiting.get(call.entry, _Refused(call, call, moment.event)), last=call)
        elif isinstance(moment, Called) and moment.is_nack:
            insort(called, moment.call.called_ns)
        elif isinstance(moment, Redelivery):
            found = taken(waiting, moment)
            oldest = min((one.first.invoke.t_ns, place) for place, (_, one) in enumerate(found))[1] if found else 0
            for entry, one in found if moment.named else found[oldest : oldest + 1]:
                yield until(one, moment.event, early=not (entry in due if moment.named else due))
            if not moment.named:
                waiting.update({entry: replace(one, excused=True) for entry, one in found if entry not in due})
        else:
            yield from (until(one, moment.event, early=False) for _, one in taken(waiting, moment))


def _since_ns(last: Call, event: Event, called: list[int], window: Window) -> int | None:
    """From the last refusal by its consumer: that later ones must not postpone earlier ones is another requirement."""
    since_ns = known_ns(last, event)
    for called_ns in called[bisect_right(called, since_ns) :] if since_ns is not None else ():
        if called_ns > (since_ns or 0) + window.latest_ns:
            break
        since_ns = called_ns
    return since_ns


@check("nack.redelivery-requested-in-time", of=_refusals)
def nack_redelivery_requested_in_time(timeline: Timeline, refusal: tuple[_Refused, Window]) -> Says:
    """nack.redelivery-requested-in-time: not before the delay, not after the delay and a tick.

    The lower bound counts from the command, the upper one from the last refusal by this consumer. An ack in between
    excuses the client from asking at all. A request is too early only when no timer that runs for its entry is due. One
    that names no entry asks for all of them, and the refusals behind it may each bring one of their own. An entry with
    a message whose retry letter fails may be asked for at once.
    """
    refused, window = refusal
    first, last, event, since_ns = refused.first, refused.last, refused.event, refused.since_ns
    who, after = f"consumer {first.consumer.handle}", "after the application refused it, expected"
    if refused.early and not timeline.setting(first.consumer, "ack_timeout_ms"):
        waited = f"{who} asked for {first.entry} again {elapsed(event.t_ns, first.invoke.t_ns)} {after}"
        yield breach("too-early", f"{waited} at least {window.earliest_ns / MS:.0f} ms", first.invoke, event)
    elif since_ns is None:
        return
    elif timeline.bounds.is_past("nack-late", since_ns + window.latest_ns, event.t_ns):
        timeline.bounds.check_fair("nack-late", since_ns, event.t_ns, what="whether a REDELIVER came too late")
        code, said = "too-late", f"{who} asked for {last.entry} again {elapsed(event.t_ns, last.called_ns)} {after}"
        if not refused.is_asked_for:
            code, said = (
                "never-requested",
                f"the application nacked {last.entry} on {who} at {ms(last.invoke.t_ns)}, ",
            )
            said += f"and the client had sent no REDELIVER of it by {ms(event.t_ns)}, expected one"
        yield breach(code, f"{said} within {window.latest_ns / MS:.0f} ms", last.invoke, event)
    elif refused.is_asked_for:
        yield Exercised(event)
