from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion, Fired, Invoke, Outcome, Overdue
from assay_conformance.pulsar.timeline import Exercised, HandlerCall, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.handlers import done_ns


class _Closing(NamedTuple):
    """A close of a consumer that was called while a call of its handler ran, and how it ended, if it did."""

    call: HandlerCall
    invoke: Invoke
    end: Completion | Overdue | None


def _closings(timeline: Timeline) -> Iterator[_Closing]:
    for invoke in timeline.events.invokes("close") if timeline.handler_calls else ():
        running = [
            call
            for call in timeline.handler_calls
            if call.consumer.handle == invoke.handle
            and call.message.seq < invoke.seq
            and not call.is_over_before(invoke)
        ]
        overdue = next((one for one in timeline.events.of(Overdue) if one.op == invoke.op), None)
        if running and "inside" not in invoke.args:
            yield _Closing(running[0], invoke, timeline.end_of(invoke.op) or overdue)


@check("listener.close-waits-for-no-handler", of=_closings)
def close_waits_for_no_handler(timeline: Timeline, closing: _Closing) -> Says:
    """listener.close-waits-for-no-handler: the close of a consumer does not wait for a running call of its handler.

    Not judged in a Case whose faults may have held back the broker's answer.
    """
    call, invoke, end = closing
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
