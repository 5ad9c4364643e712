from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Completion, Fired, Invoke, Outcome, Overdue
from assay_conformance.pulsar.timeline import Exercised, HandlerCall, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.handlers import done_ns


def _closings(timeline: Timeline) -> Iterator[tuple[HandlerCall, Invoke]]:
    """Yield what closes a consumer while a call of its handler runs."""
    for invoke in timeline.events.invokes("close") if timeline.handler_calls else ():
        running = [
            call
            for call in timeline.handler_calls
            if call.consumer.handle == invoke.handle
            and call.message.seq < invoke.seq
            and not call.is_over_before(invoke)
        ]
        if running and "inside" not in invoke.args:
            yield running[0], invoke


@check("listener.close-waits-for-no-handler", of=_closings)
def close_waits_for_no_handler(timeline: Timeline, closing: tuple[HandlerCall, Invoke]) -> Says:
    """listener.close-waits-for-no-handler: the close of a consumer does not wait for a running call of its handler.

    Not judged in a Case whose faults may have held back the broker's answer.
    """
    (call, invoke), end = closing, timeline.end_or_overdue(closing[1].op)
    if isinstance(end, Completion) and end.outcome is Outcome.OK and call.runs_at(done_ns(end)):
        yield Exercised(end)
        return
    if timeline.events.of(Fired):
        return
    until_ns = timeline.bounds.until(call.ended_ns, end if isinstance(end, Overdue) else None)
    if timeline.bounds.is_overdue("answer", invoke.t_ns, until_ns, what="the end of a close"):
        yield breach(
            "waits-for-handler",
            f"close of consumer {call.consumer.handle} was called at {ms(invoke.t_ns)}, while {call} ran; expected "
            f"the close to end without waiting for that; it had not ended by {ms(until_ns)}",
            *(call.message, invoke),
        )
