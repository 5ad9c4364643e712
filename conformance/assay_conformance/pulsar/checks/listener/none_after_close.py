from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Completion, Outcome
from assay_conformance.pulsar.timeline import Exercised, HandlerCall, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.handlers import done_ns


def _closed(timeline: Timeline) -> Iterator[tuple[Completion, list[HandlerCall]]]:
    """Yield how the close of a consumer, or of its client, succeeded, and the calls of its handler."""
    for consumer in timeline.consumers if timeline.handler_calls else ():
        calls = [call for call in timeline.handler_calls if call.consumer is consumer]
        end = consumer.closed
        if calls and isinstance(end, Completion) and end.outcome is Outcome.OK:
            yield end, calls


@check("listener.none-after-close", of=_closed)
def none_after_close(timeline: Timeline, closed: tuple[Completion, list[HandlerCall]]) -> Says:
    """listener.none-after-close: no call of a handler begins after the close of its consumer, or client, has ended.

    Both times are the agent's. A call that was already scheduled may begin later by the time that a thread takes to
    wake up.
    """
    end, calls = closed
    yield Exercised(end)
    for call in calls:
        if timeline.bounds.is_overdue("in-flight", done_ns(end), call.began_ns, what="a handler call"):
            yield breach(
                "called-after-close",
                f"{call} began at {ms(call.began_ns)}; expected no call after its close, which had ended at "
                f"{ms(done_ns(end))}",
                *(end, call.message),
            )
            return
