from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import Completion, Frame
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, each, ms


def _closed(timeline: Timeline) -> Iterator[Completion]:
    """Yield the ends of closes of consumers that were never asked to unsubscribe."""
    asked = {call.handle for call in timeline.events.invokes("unsubscribe")}
    for end in timeline.events.completions("close"):
        if timeline.consumer(end.handle) is not None and end.handle not in asked:
            yield end


@check("subscription.unsubscribes-on-request")
def unsubscribes_on_request(timeline: Timeline) -> Says:
    """subscription.unsubscribes-on-request: a consumer sends UNSUBSCRIBE where its application has called unsubscribe,
    and in no other case: a close leaves the subscription.

    A consumer of a pattern may unsubscribe from a topic that is gone.
    """
    yield from each(_closed(timeline), _leaves, timeline)
    yield from each(timeline.events.frames("UNSUBSCRIBE"), _was_asked, timeline)


def _leaves(timeline: Timeline, end: Completion) -> Says:
    yield Exercised(end)


def _was_asked(timeline: Timeline, frame: Frame) -> Says:
    session = timeline.consumer_sessions.of(frame)
    consumer = None if session is None else session.consumer
    if consumer is None or not from_client(frame) or consumer.invoke.args.get("pattern"):
        return
    calls = timeline.events.invokes_of(consumer.handle, "unsubscribe")
    if not any(call.seq < frame.seq for call in calls):
        yield breach(
            "unasked",
            f"consumer {consumer.handle} sent UNSUBSCRIBE for subscription {consumer.subscription} at "
            f"{ms(frame.t_ns)}; expected none, for the application had not called unsubscribe",
            *(consumer.invoke, frame),
        )
