"""producer.keeps-reconnecting"""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.history.events import between, grouped
from assay_conformance.model.event import Completion, ErrorClass
from assay_conformance.model.topic_names import is_partition
from assay_conformance.pulsar.timeline import (
    FINAL_ERRORS,
    Exercised,
    Producer,
    Says,
    Setback,
    Timeline,
    breach,
    check,
    ms,
)


def _away(timeline: Timeline) -> Iterator[Setback]:
    """Yield setbacks of open producers, but for what ends them.

    One of several partitions may not be used meanwhile: which one a send went to that was never written is not known.
    """
    for setback in timeline.setbacks:
        owner = setback.owner
        is_open = isinstance(owner, Producer) and owner.handle in timeline.opened_producers
        if is_open and setback.error not in FINAL_ERRORS and not is_partition(setback.topic):
            yield setback


@check("producer.keeps-reconnecting", of=_away)
def keeps_reconnecting(timeline: Timeline, setback: Setback) -> Says:
    """producer.keeps-reconnecting: a producer that the application has not closed comes back, at the latest for the
    next send, or that send fails with an error that says so.

    Judged by sends that were made afterwards and timed out: some clients come back only when they are used.
    """
    yield from (Exercised(attempt) for attempt in setback.own_attempts)
    owner = setback.owner
    ends = between(timeline.once(_failed).get(owner.handle, ()), setback.event, setback.over or owner.closing)
    lost = next((one for one in ends if _is_lost(timeline, setback, one)), None)
    until_ns = None if lost is None else setback.given_up_ns(timeline)
    if lost is not None and until_ns is not None:
        yield breach(
            "stayed-away",
            f"{owner} {setback.words} at {ms(setback.event.t_ns)}; expected it to register on topic {setback.topic} "
            f"again, or the next send to say that it does not; nothing was tried until {ms(until_ns)}, and a send of "
            f"{ms(timeline.call(lost).t_ns)} timed out at {ms(lost.t_ns)}",
            *(setback.event, lost),
        )


def _failed(timeline: Timeline) -> dict[int | None, list[Completion]]:
    return grouped(timeline.failed_sends, lambda end: end.handle)


def _is_lost(timeline: Timeline, setback: Setback, end: Completion) -> bool:
    """Return whether a send timed out, and nothing was tried from its call on."""
    call = timeline.call(end)
    if end.error is not ErrorClass.TIMEOUT or call.seq < setback.event.seq:
        return False
    return not any(call.seq < one.seq < end.seq for one in setback.attempts)
