from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion, Outcome
from assay_conformance.pulsar.timeline import (
    Consumer,
    Exercised,
    HandlerCall,
    Says,
    Timeline,
    breach,
    check,
    left_waiting,
    listens,
    ms,
)
from assay_conformance.pulsar.timeline.handlers import beside, called_ns


class _Beside(NamedTuple):
    """A receive of one consumer that lay wholly beside a handler call of another one of its client."""

    consumer: Consumer
    end: Completion
    call: HandlerCall


def _beside(timeline: Timeline) -> Iterator[_Beside]:
    for end in timeline.events.completions("receive") if timeline.handler_calls else ():
        consumer = timeline.consumer(end.handle)
        asked = timeline.call(end)
        if consumer is None or listens(consumer) or end.outcome is not Outcome.OK:
            continue
        for call in beside(timeline.handler_calls, consumer):
            if call.message.seq < asked.seq and not call.is_over_before(end):
                yield _Beside(consumer, end, call)
                break


@check("listener.blocked-handler-delays-no-other", of=_beside)
def blocked_handler_delays_no_other(timeline: Timeline, beside: _Beside) -> Says:
    """listener.blocked-handler-delays-no-other: while a handler call runs, what has come for another consumer of the
    client without a handler is received.

    Whether another handler is called depends on threads, which a client may have one of.
    """
    consumer, end, call = beside
    waiting = left_waiting(timeline, consumer, end) if end in timeline.starved else None
    if waiting is not None:
        yield breach(
            "held-up",
            f"consumer {consumer.handle} was asked for messages from {ms(called_ns(end))} to {ms(end.t_ns)}, while "
            f"{call} ran; expected entry {waiting.frame.ids[0]}, which had arrived at {ms(waiting.frame.t_ns)}; it was "
            "not delivered",
            *(call.message, waiting.frame, end),
        )
    elif end.count:
        yield Exercised(end)
