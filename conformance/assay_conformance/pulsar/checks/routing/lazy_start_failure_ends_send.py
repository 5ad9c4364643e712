from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.routing._lazy import LazyProducer, lazy_producers
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms

_FINAL = frozenset({"AuthorizationError", "NotAllowedError", "TopicNotFound", "TopicTerminatedError"})
"""What ends the opening of a producer in every client."""

Refused = tuple[LazyProducer, Frame]


def _refused(timeline: Timeline) -> Iterator[Refused]:
    """Yield registrations of further partitions that were refused for good, with the refusal."""
    for lazy in lazy_producers(timeline):
        for one in lazy.first[1:]:
            if one.refusal is not None and one.error in _FINAL:
                yield lazy, one.refusal


@check("routing.lazy-start-failure-ends-send", of=_refused)
def lazy_start_failure_ends_send(timeline: Timeline, refused: Refused) -> Says:
    """routing.lazy-start-failure-ends-send: once a partition has refused its producer, the message that was to go there
    fails.

    Of several sends that have not ended at least one has to fail; messages that left in a SEND went to another
    partition.
    """
    lazy, refusal = refused
    waiting = [
        send
        for send in timeline.sends_of(lazy.handle)
        if send.invoke.seq < refusal.seq and send.is_pending(refusal) and timeline.unit_with(send) is None
    ]
    if not waiting:
        return
    yield Exercised(refusal)
    ends = [send.completion for send in waiting if send.completion is not None]
    seen = min(ends, key=lambda end: end.seq, default=None) or timeline.closing(lazy.handle) or timeline.ended
    if timeline.bounds.is_missing("answer", refusal.t_ns, seen.t_ns):
        yield breach(
            "left-pending",
            f"producer {lazy.handle} got {refusal.fields['error']} for a partition that it opened for a message, at "
            f"{ms(refusal.t_ns)}; expected the message to fail; none had by {ms(seen.t_ns)}",
            *(refusal, seen),
        )
