from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Closed, Completion, Fired, Invoke, Outcome, Overdue
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


class _Inside(NamedTuple):
    """What was called in a handler call, and how it ended."""

    invoke: Invoke
    end: Completion | Overdue | None


def _inside(timeline: Timeline) -> Iterator[_Inside]:
    for verb in ("ack", "nack", "close"):
        for invoke in timeline.events.invokes(verb):
            if "inside" in invoke.args:
                overdue = next((one for one in timeline.events.of(Overdue) if one.op == invoke.op), None)
                yield _Inside(invoke, timeline.end_of(invoke.op) or overdue)


@check("listener.calls-inside-succeed", of=_inside)
def calls_inside_succeed(timeline: Timeline, inside: _Inside) -> Says:
    """listener.calls-inside-succeed: acknowledge, negative_acknowledge and close succeed when they are called inside a
    handler, before the handler returns.

    Not judged where a fault acted or a connection was lost: such a call may fail anywhere.
    """
    invoke, end = inside
    what = f"{invoke.verb} was called in a handler call of consumer {invoke.handle} at {ms(invoke.t_ns)}"
    if isinstance(end, Completion) and end.outcome is Outcome.OK:
        yield Exercised(end)
    elif end is None or _is_disturbed(timeline, invoke, end):
        return
    elif isinstance(end, Overdue):
        timeline.bounds.check_fair("answer", invoke.t_ns, end.t_ns, what="whether a call only ended late")
        yield breach("never-ended", f"{what}; expected it to end; it had not by {ms(end.t_ns)}", invoke, end)
    elif end.outcome is not Outcome.UNSUPPORTED:
        error = end.error.value if end.error else end.outcome.value
        yield breach("failed", f"{what}; expected it to succeed; it ended as {error}: {end.text}", invoke, end)


def _is_disturbed(timeline: Timeline, invoke: Invoke, end: Completion | Overdue) -> bool:
    if timeline.events.of(Fired) or any(one.seq < end.seq for one in timeline.events.of(Closed)):
        return True
    consumer = timeline.consumer(invoke.handle)
    return consumer is None or (consumer.closing is not None and consumer.closing.seq < invoke.seq)
