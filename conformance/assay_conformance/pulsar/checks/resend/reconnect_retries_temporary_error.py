"""resend.reconnect-retries-temporary-error"""

from __future__ import annotations

from itertools import islice

from assay_conformance.history.events import grouped
from assay_conformance.judging.intervals import Interval, Intervals
from assay_conformance.model.event import Completion, ErrorClass, Outcome
from assay_conformance.pulsar.timeline import (
    PASSING_ERRORS,
    Exercised,
    Interruption,
    Producer,
    Says,
    Timeline,
    breach,
    check,
    each,
    ms,
)

_OF_ITS_OWN = frozenset({ErrorClass.TIMEOUT, ErrorClass.CLOSED, ErrorClass.TOO_LARGE, ErrorClass.QUEUE_FULL})
"""How a send may end while its producer waits to come back: its time is up, its producer is closed, or the client never
took it."""


@check("resend.reconnect-retries-temporary-error")
def reconnect_retries_temporary_error(timeline: Timeline) -> Says:
    """resend.reconnect-retries-temporary-error: after a refusal with a temporary error the client tries again, and no
    pending send fails because of it."""
    refused = [one for one in timeline.interruptions if isinstance(one.owner, Producer) and one.error in PASSING_ERRORS]
    yield from each(refused, _tries_again, timeline)
    away = {handle: _away(those) for handle, those in grouped(refused, lambda one: one.owner.handle).items()}
    yield from each(timeline.failed_sends if refused else (), _fails_over_it, timeline, away)


def _away(refused: list[Interruption]) -> Intervals[Interruption]:
    """Return the intervals from each refusal until its producer was admitted, or set back again."""
    ends = (one.over for one in refused)
    return Intervals(
        Interval(one.event.seq + 1, None if over is None else over.seq - 1, one)
        for one, over in zip(refused, ends, strict=True)
    )


def _tries_again(timeline: Timeline, interruption: Interruption) -> Says:
    yield from (Exercised(attempt) for attempt in interruption.own_attempts)
    until_ns = interruption.given_up_ns(timeline)
    if until_ns is not None:
        yield breach(
            "stayed-away",
            f"{interruption.owner} got {interruption.error}, a temporary error, at {ms(interruption.event.t_ns)} when "
            f"it reconnected; expected another attempt; there was none by {ms(until_ns)}",
            interruption.event,
        )


def _fails_over_it(timeline: Timeline, away: dict[int | None, Intervals[Interruption]], failed: Completion) -> Says:
    if failed.outcome is Outcome.UNSUPPORTED or failed.error in _OF_ITS_OWN:
        return
    call = timeline.call(failed)
    for interruption in away[failed.handle].at(failed.seq) if failed.handle in away else ():
        producer, refusal = interruption.owner, interruption.event
        assert isinstance(producer, Producer)
        tried = any(attempt.seq < failed.seq for attempt in islice(interruption.attempts, 1))
        if not tried and call.seq < refusal.seq and not producer.closing_before(failed.seq):
            timeline.owner(producer)
            yield breach(
                "failed-pending",
                f"{producer} got {interruption.error}, a temporary error, at {ms(refusal.t_ns)} when it "
                f"reconnected; expected no pending send to fail because of it; one ended {failed.outcome.value} "
                f"({failed.error}) at {ms(failed.t_ns)}",
                *(refusal, failed),
            )
