from __future__ import annotations

from assay_conformance.model.event import Closed, Frame
from assay_conformance.pulsar.checks.connection._openings import Opening, judge_attempted_again, limit_of, openings
from assay_conformance.pulsar.timeline import Says, Timeline, breach, check, each, ms


@check("connection.reconnects-while-opening")
def reconnects_while_opening(timeline: Timeline) -> Says:
    """connection.reconnects-while-opening: a lost connection is followed by another attempt while the open call has
    time for one. Whatever the failure was, no attempt is made after the operation time-out."""
    met = list(openings(timeline))
    yield from each(met, lambda opening: judge_attempted_again(timeline, opening, Closed, Frame))
    yield from each(met, _goes_on_no_longer, timeline)


def _goes_on_no_longer(timeline: Timeline, opening: Opening) -> Says:
    """Judge the length of an opening: its operation time-out begins no later than with its first registration."""
    first: dict[str, Frame] = {}
    limit_ns = limit_of(timeline, opening)
    for asked in opening.asked:
        begun = first.setdefault(asked.topic, asked.frame)
        until_ns = begun.t_ns + limit_ns
        what = "opening went on for too long"
        if opening.failures[0].seq < asked.frame.seq and timeline.bounds.is_overdue(
            "reconnect", begun.t_ns, asked.frame.t_ns, due_ns=until_ns, what=what
        ):
            yield breach(
                "went-on",
                f"{opening.invoke.verb} of handle {opening.invoke.handle} first tried to register at {ms(begun.t_ns)}, "
                f"in vain; expected no attempt after {ms(until_ns)}, its operation time-out; it tried again at "
                f"{ms(asked.frame.t_ns)}",
                *(begun, asked.frame),
            )
        if asked.waits:
            return
