"""producer.keeps-reconnecting"""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.history.events import between, grouped
from assay_conformance.model.event import Completion, ErrorClass
from assay_conformance.model.topic_names import is_partition
from assay_conformance.pulsar.timeline import (
    FINAL_ERRORS,
    Exercised,
    Interruption,
    Producer,
    Says,
    Timeline,
    breach,
    check,
    ms,
)


def _away(timeline: Timeline) -> Iterator[Interruption]:
    """Yield interruptions of open producers, but for what ends them.

    One of several partitions may not be used meanwhile: which one a send went to that was never written is not known.
    """
    for interruption in timeline.interruptions:
        owner = interruption.owner
        is_open = isinstance(owner, Producer) and owner.handle in timeline.opened_producers
        if is_open and interruption.error not in FINAL_ERRORS and not is_partition(interruption.topic):
            yield interruption


@check("producer.keeps-reconnecting", of=_away)
def keeps_reconnecting(timeline: Timeline, interruption: Interruption) -> Says:
    """producer.keeps-reconnecting: a producer that the application has not closed comes back, at the latest for the
    next send, or that send fails with an error that says so.

    Judged by sends that were made afterwards and timed out: some clients come back only when they are used.
    """
    yield from (Exercised(attempt) for attempt in interruption.own_attempts)
    owner = interruption.owner
    ends = between(timeline.once(_failed).get(owner.handle, ()), interruption.event, interruption.over or owner.closing)
    lost = next((one for one in ends if _is_lost(timeline, interruption, one)), None)
    until_ns = None if lost is None else interruption.given_up_ns(timeline)
    if lost is not None and until_ns is not None:
        yield breach(
            "stayed-away",
            f"{owner} {interruption.words} at {ms(interruption.event.t_ns)}; expected it to register on topic "
            f"{interruption.topic} again, or the next send to say that it does not; nothing was tried until "
            f"{ms(until_ns)}, and a send of "
            f"{ms(timeline.call(lost).t_ns)} timed out at {ms(lost.t_ns)}",
            *(interruption.event, lost),
        )


def _failed(timeline: Timeline) -> dict[int | None, list[Completion]]:
    return grouped(timeline.failed_sends, lambda end: end.handle)


def _is_lost(timeline: Timeline, interruption: Interruption, end: Completion) -> bool:
    """Return whether a send timed out, and nothing was tried from its call on."""
    call = timeline.call(end)
    if end.error is not ErrorClass.TIMEOUT or call.seq < interruption.event.seq:
        return False
    return not any(call.seq < one.seq < end.seq for one in interruption.attempts)
