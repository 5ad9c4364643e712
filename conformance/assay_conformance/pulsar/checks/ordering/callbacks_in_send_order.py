from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Completion, ErrorClass, Frame, Outcome
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


def _through_the_queue(timeline: Timeline) -> Iterator[list[Completion]]:
    """Yield of each producer how its sends ended, in order."""
    found: dict[int, list[Completion]] = {}
    for end in timeline.ends("send"):
        if end.handle is not None and (end.outcome is Outcome.OK or end.error is ErrorClass.TIMEOUT):
            found.setdefault(end.handle, []).append(end)
    return (ends for handle, ends in found.items() if _is_ordered(timeline, handle))


def _is_ordered(timeline: Timeline, handle: int) -> bool:
    topic = timeline.topic_of(handle)
    by_key = timeline.batches_by_key(handle)
    return topic is not None and not topic.partitions and not by_key


@check("ordering.callbacks-in-send-order", of=_through_the_queue)
def callbacks_in_send_order(timeline: Timeline, ends: list[Completion]) -> Says:
    """ordering.callbacks-in-send-order: completions of one producer's sends come in call order, by the order in which
    the agent wrote them in callbacks.

    Judged are sends that went through the queue: those with a receipt, and those that timed out. A send that fails at
    once may overtake. Each partition has a producer of its own.
    """
    before = ends[0]
    for end in ends[1:]:
        number, furthest = timeline.number(end), timeline.number(before)
        if number < furthest:
            yield breach(
                "callback-out-of-order",
                f"producer {end.handle}: message {number} was sent before message {furthest}; expected its send to "
                f"complete first; it completed at {ms(end.t_ns)}, and that of message {furthest} at {ms(before.t_ns)}",
                *(_first_send(timeline, one, end) for one in (before, end)),
                before,
                end,
            )
            continue
        if timeline.call(end).seq < before.seq:
            yield Exercised(end)
        before = end


def _first_send(timeline: Timeline, end: Completion, by: Completion) -> Frame | None:
    send = timeline.send(end.handle or 0, timeline.number(end))
    unit = None if send is None else timeline.unit_with(send)
    return unit.first if unit is not None and unit.first.seq < by.seq else None
