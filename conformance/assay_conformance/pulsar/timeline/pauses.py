"""When consumers were paused by their application."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.history.events import Events
from assay_conformance.model.event import Completion, Event, Invoke, Outcome
from assay_conformance.pulsar.timeline.consumers import Consumer


@dataclass(frozen=True, slots=True, eq=False)
class Pause:
    """From the call of `pause` on; `held`: when that had ended well. `resume` is the call that ends it, `resumed` how
    that ended; None where it did not happen."""

    handle: int
    call: Invoke
    held: Completion | None
    resume: Invoke | None
    resumed: Completion | None

    def covers(self, event: Event) -> bool:
        """Return whether an event is between its calls."""
        return self.call.seq < event.seq and (self.resume is None or event.seq < self.resume.seq)


def pauses(events: Events) -> Iterator[Pause]:
    """Yield all pauses of an attempt, in order."""
    ends = {end.op: end for end in events.completions("pause", "resume")}
    for call in events.invokes("pause"):
        held = ends.get(call.op)
        resumes = (one for one in events.invokes("resume") if one.handle == call.handle and one.seq > call.seq)
        resume = next(resumes, None)
        if call.handle is not None:
            is_held = held is not None and held.outcome is Outcome.OK
            resumed = None if resume is None else ends.get(resume.op)
            yield Pause(call.handle, call, held if is_held else None, resume, resumed)


def unpaused_since_ns(found: list[Pause], consumer: Consumer, event: Event) -> int | None:
    """Return since when a consumer, open at an event, was not paused; None where it may have been, at the event."""
    since_ns = 0
    for pause in found:
        if pause.handle == consumer.handle and pause.call.seq < event.seq:
            if pause.resumed is None or pause.resumed.seq > event.seq:
                return None
            since_ns = pause.resumed.t_ns
    return since_ns
