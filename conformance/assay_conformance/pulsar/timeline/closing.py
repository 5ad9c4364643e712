"""Closes that a client refuses, and the words for how a producer or consumer was closed."""

from __future__ import annotations

from typing import Final

from assay_conformance.judging.tolerance import ms
from assay_conformance.model.event import Completion, ErrorClass, Event, Invoke, Outcome
from assay_conformance.pulsar.timeline.timeline import Timeline

_SAYS_NO_REFUSAL: Final = (ErrorClass.TIMEOUT, ErrorClass.TRANSPORT)


def closed_by_application(timeline: Timeline, handle: int | None, *, was_away: bool) -> Completion | None:
    """Return the end of the call by which the application closed a producer or consumer. The call succeeded, or the
    client refused it, which counts only if it had no connection (`was_away`): with one, a broker may have been the
    reason.
    """
    return timeline.close_of(handle) or (_refused_close(timeline, handle) if was_away else None)


def _refused_close(timeline: Timeline, handle: int | None) -> Completion | None:
    closing = timeline.closing(handle)
    end = timeline.end_of(closing.op) if isinstance(closing, Invoke) and closing.handle == handle else None
    if closing is None or end is None or not _is_refusal(end):
        return None
    asked = timeline.events.frames("CLOSE_PRODUCER", "CLOSE_CONSUMER")
    is_asked = any(one.from_sender and closing.seq < one.seq < end.seq for one in asked)
    return None if is_asked else end


def _is_refusal(end: Completion) -> bool:
    return end.outcome is Outcome.UNKNOWN and end.error not in _SAYS_NO_REFUSAL


def may_register(timeline: Timeline, opening: Invoke, at: Event) -> bool:
    """Return whether a PRODUCER or SUBSCRIBE may be of what this call opened: that is open then, is being opened, or
    was closed so shortly before that one may be under way."""
    gone = timeline.close_of(opening.handle)
    return opening.seq < at.seq and (gone is None or not timeline.bounds.is_past("in-flight", gone.t_ns, at.t_ns))


def how_closed(end: Completion) -> str:
    """Return "was closed at ..." of the end of a close, or that the client refused it."""
    if _is_refusal(end):
        return f"was to be closed, which the client refused at {ms(end.t_ns)} ({end.text or end.error})"
    return f"was closed at {ms(end.t_ns)}"
