from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Completion, ErrorClass, Invoke, Outcome
from assay_conformance.model.payload import is_identified
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, may_wait_for_partition, ms


def _later(timeline: Timeline) -> Iterator[tuple[Completion, Completion]]:
    """Yield the ends of sends that were made after another of their producer had timed out, and that end."""
    expired: dict[int | None, Completion] = {}
    for end in timeline.ends("send"):
        before = expired.get(end.handle)
        if before is not None and timeline.call(end).seq > before.seq:
            yield end, before
        if end.error is ErrorClass.TIMEOUT:
            expired.setdefault(end.handle, end)


@check("resend.sends-after-timeout", of=_later)
def sends_after_timeout(timeline: Timeline, ends: tuple[Completion, Completion]) -> Says:
    """resend.sends-after-timeout: what is sent after a send has timed out is written before its own time-out.

    Judged are sends of a producer that was registered when they were made, and then met nothing. A batch may wait to be
    full, and a send for room in the queue; of a small message it is not known whether it was written.
    """
    end, before = ends
    call, handle = timeline.call(end), -1 if end.handle is None else end.handle
    if end.outcome is Outcome.OK:
        yield Exercised(end)
    elif end.error is ErrorClass.TIMEOUT and _never_left(timeline, end) and not _may_wait(timeline, handle, call):
        timeline.bounds.check_fair("answer", call.t_ns, end.t_ns, what="whether a send had its time")
        obstacles = timeline.obstacles.between(
            call.t_ns, end, handle, [one.topic for one in timeline.producers_of(handle)]
        )
        if timeline.is_registered(handle, call) and next(obstacles, None) is None:
            yield breach(
                "not-written",
                f"producer {handle}: a send timed out at {ms(before.t_ns)}; expected message {call.number or 0}, sent "
                f"at {ms(call.t_ns)} while the producer was registered, to be written before its own time-out; it was "
                f"not by {ms(end.t_ns)}",
                *(before, call, end),
            )


def _never_left(timeline: Timeline, end: Completion) -> bool:
    return is_identified(timeline.call(end).size or 0) and timeline.unit_of(end) is None


def _may_wait(timeline: Timeline, handle: int, call: Invoke) -> bool:
    """Return whether it may wait in the client: in its batch, for its partition, or after sends that had not ended."""
    return (
        timeline.view.producer_setting(handle, "batching") is True
        or may_wait_for_partition(timeline, handle, None)
        or any(True for _ in timeline.pending.sends(handle, call))
    )
