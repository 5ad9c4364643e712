"""Which nacks a request may come of: each may have a timer of its own, which outlives the session it came on."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.checks.nack._windows import Window
from assay_conformance.pulsar.timeline import TOLERANCES, Consumer, Entry, Timeline
from assay_conformance.pulsar.timeline.moments import Moment, ReconsumeLaterCalled, RedeliverWritten, SettleCalled


def timed(timeline: Timeline, consumer: Consumer, window: Window) -> Iterator[tuple[Moment, set[Entry]]]:
    """Yield the moments of a consumer; with each request the entries of which some nack has waited long enough.

    Those with a message whose retry letter fails are among them.
    """
    running: dict[Entry, list[int]] = {}
    unposted: set[Entry] = set()
    for moment in timeline.moments(consumer):
        due: set[Entry] = set()
        if isinstance(moment, SettleCalled) and moment.is_nack:
            running.setdefault(moment.entry, []).append(moment.event.t_ns)
        elif isinstance(moment, ReconsumeLaterCalled) and moment.fails:
            unposted.add(moment.entry)
        elif isinstance(moment, RedeliverWritten):
            among = sorted(moment.named & running.keys()) if moment.named else running
            asked_for = [entry for entry in among if moment.ends(entry)]
            due = _due(running, moment, window, asked_for) | unposted.intersection(asked_for)
        yield moment, due


def _due(
    running: dict[Entry, list[int]], request: RedeliverWritten, window: Window, asked_for: list[Entry]
) -> set[Entry]:
    """Return the entries that are due.

    One request uses up one nack, the oldest, of each entry it names, and of all where it names none: the client decides
    how many it acts upon together. What is overdue was acted upon, too.
    """
    now_ns, due = request.event.t_ns, set()
    earliest_ns = window.earliest_ns - TOLERANCES["nack-early"].slack_ns
    overdue_ns = window.latest_ns + TOLERANCES["nack-late"].slack_ns
    for entry in asked_for:
        ripe = [asked_ns for asked_ns in running[entry] if now_ns - asked_ns >= earliest_ns]
        if ripe:
            due.add(entry)
            left = [asked_ns for asked_ns in running[entry] if now_ns - asked_ns <= overdue_ns]
            if request.named and min(ripe) in left:
                # That one alone: messages of a batch that were nacked together have a timer each.
                left.remove(min(ripe))
            running[entry] = left
    if due and not request.named:
        oldest = min((one for one in asked_for if one in due), key=lambda one: min(running[one], default=0))
        del running[oldest][:1]
    return due
