from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Completion, Outcome
from assay_conformance.model.facts import Lack
from assay_conformance.model.payload import is_identified
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, UnknownError, breach, check, ms


def _flushes(timeline: Timeline) -> Iterator[Completion]:
    return (end for end in timeline.ends("flush") if end.outcome is Outcome.OK)


@check("producer.flush-waits", of=_flushes)
def flush_waits(timeline: Timeline, end: Completion) -> Says:
    """producer.flush-waits: when a flush ends, every send that was called before it has ended or has its answer. Judged
    where some send was pending when flush was called."""
    flush = timeline.call(end)
    before = [*timeline.pending.sends(end.handle, flush)]
    if not before:
        return
    timeline.check_owned(end.handle)
    for send in before:
        if send.completion is not None and _ends_before(timeline, send.completion, end):
            continue
        unit = timeline.unit_with(send)
        unit = unit if unit is not None and unit.first.seq < end.seq else None
        if unit is None and not is_identified(send.invoke.size):
            raise UnknownError("a message may have left in a batch whose messages are too small to be identified")
        if unit is None or not unit.answered_before(end.seq):
            left = "had not left yet" if unit is None else f"left at {ms(unit.first.t_ns)} and had no answer"
            yield breach(
                "flushed-early",
                f"producer {end.handle}: flush was reported as done at {ms(end.t_ns)}; expected it to wait for "
                f"message {send.invoke.number}, sent by the application before it at {ms(send.invoke.t_ns)}, which "
                f"{left}",
                *(send.invoke if unit is None else unit.first, end),
            )
            return
    yield Exercised(end)


def _ends_before(timeline: Timeline, send: Completion, flush: Completion) -> bool:
    """Return whether the send ended before the flush.

    Where a scheduler of the application resolves both, their order says nothing if they end together. Nor does that of
    a send that failed: Java's flush hangs on the future of the last send, whose last callback runs first.
    """
    if send.seq < flush.seq:
        return True
    resolves = Lack.SEND_CALLBACKS in timeline.view.facts.lacks or send.outcome is not Outcome.OK
    return resolves and not timeline.bounds.is_past("in-flight", flush.t_ns, send.t_ns)
