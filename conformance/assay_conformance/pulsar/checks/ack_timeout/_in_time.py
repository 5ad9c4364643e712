"""When redelivery of what is held is requested."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import elapsed, moves_to_dead_letter
from assay_conformance.pulsar.checks.ack_timeout._held import EndedHold, Held, ended
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, ms
from assay_conformance.pulsar.timeline.moments import RedeliverWritten


def waits(timeline: Timeline, *, even: bool) -> Iterator[tuple[EndedHold, Held]]:
    """Yield every message that was held until a request, or overdue when its session ended.

    The time-out is a whole number of its ticks (`even`), or else is not.
    """
    for end in ended(timeline):
        is_owed = isinstance(end.by, RedeliverWritten) or not moves_to_dead_letter(timeline.view, end.consumer)
        if end.span.even is even and is_owed:
            yield from ((end, held) for held in end.held)


def in_time(timeline: Timeline, wait: tuple[EndedHold, Held]) -> Says:
    """Judge whether it came not before the time-out, and not after it and two ticks."""
    (by, consumer, span, _), held = wait
    handed, event, bounds = held.event, by.event, timeline.bounds
    said = f"consumer {consumer.handle} delivered {held.entry} at"
    is_late = bounds.is_past("ack-timeout", handed.t_ns + span.most_ns, event.t_ns)
    if is_late:
        bounds.check_fair("ack-timeout", handed.t_ns, event.t_ns, what="whether it was requested too late")
    if not isinstance(by, RedeliverWritten):
        if is_late:
            said = (
                f"{said} {ms(handed.t_ns)}; it was neither acknowledged nor nacked, and no redelivery was requested "
                f"by {ms(event.t_ns)}"
            )
            yield breach("never-asked-for", f"{said}, expected within {ms(span.most_ns)}", handed, event)
    elif is_late:
        said = f"{said} {ms(handed.t_ns)} and requested its redelivery {elapsed(event.t_ns, handed.t_ns)} later"
        yield breach("too-late", f"{said}, expected {ms(span.most_ns)} at most", handed, event)
    elif not held.again and bounds.is_before("time-out-early", held.done_ns + span.least_ns, event.t_ns):
        if not bounds.is_before("time-out-early", held.frame.t_ns + span.least_ns, event.t_ns):
            # An agent that stands still between a message and its word of it makes the wait look shorter.
            bounds.check_fair("time-out-early", held.frame.t_ns, handed.t_ns, what="whether it was requested too early")
        said = f"{said} {ms(held.done_ns)} and requested its redelivery {elapsed(event.t_ns, held.done_ns)} later"
        yield breach("too-early", f"{said}, expected {ms(span.least_ns)} at least", handed, event)
    else:
        yield Exercised(event)
