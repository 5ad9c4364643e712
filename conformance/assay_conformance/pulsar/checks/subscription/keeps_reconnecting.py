"""subscription.keeps-reconnecting"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from assay_conformance.checks.parts import takes_several
from assay_conformance.history.events import between, grouped
from assay_conformance.model.event import Completion, Outcome
from assay_conformance.model.topic_names import is_partition
from assay_conformance.pulsar.outcomes.errors import PASSING_FOR_CONSUMERS
from assay_conformance.pulsar.timeline import (
    IN_FLIGHT_NS,
    Consumer,
    Exercised,
    Interruption,
    Says,
    Timeline,
    breach,
    called_ns,
    check,
    listens,
    ms,
)

_RECEIVES: Final = ("receive", "batch_receive")
"""What a broker says while it opens or unloads a topic, and until it notices that the former connection is gone."""


def _away(timeline: Timeline) -> Iterator[Interruption]:
    """Yield interruptions of consumers, but for refusals that may be final to those that need not report them.

    One of several topics or partitions may go on with the others, and one with a message handler has no call that could
    fail. Where the open call failed, it has reported what it met, and there is no consumer.
    """
    for interruption in timeline.interruptions:
        consumer = interruption.owner
        if isinstance(consumer, Consumer) and not timeline.failed_to_open(consumer.handle):
            is_part = is_partition(interruption.topic) or takes_several(timeline.view, consumer)
            passes = interruption.error is None or interruption.error in PASSING_FOR_CONSUMERS
            if passes or not (is_part or listens(consumer)):
                yield interruption


@check("subscription.keeps-reconnecting", of=_away)
def keeps_reconnecting(timeline: Timeline, interruption: Interruption) -> Says:
    """subscription.keeps-reconnecting: a consumer that the application has not closed comes back, whether or not it is
    received from, or the next receive fails. So this is judged where the application receives afterwards, unless all
    that it gets had come before: one that has given up may hand that over first."""
    yield from (Exercised(attempt) for attempt in interruption.own_attempts)
    handle, closing = interruption.owner.handle, interruption.owner.closing
    receives = between(timeline.events.completions_of(handle, *_RECEIVES), interruption.event, closing)
    failed = between(timeline.once(_failed).get(handle, ()), interruption.event, closing)
    is_asked = any(_asks(timeline, interruption, end) for end in reversed(receives))
    until_ns = interruption.given_up_ns(timeline) if is_asked and not failed else None
    if until_ns is not None:
        yield breach(
            "stayed-away",
            f"consumer {handle} {interruption.words} at {ms(interruption.event.t_ns)}; expected it "
            f"to subscribe to topic {interruption.topic} again, or the next receive to fail; it had not subscribed "
            f"by {ms(until_ns)}, and a receive succeeded",
            *(interruption.event, receives[-1]),
        )


def _asks(timeline: Timeline, interruption: Interruption, end: Completion) -> bool:
    """Return whether a receive waited for what had not come when the trouble began."""
    if called_ns(end) <= interruption.event.t_ns + IN_FLIGHT_NS:
        return False
    consumer = interruption.owner
    sessions = consumer.sessions if isinstance(consumer, Consumer) else ()
    came = (timeline.consumer_sessions.frames(session, "MESSAGE") for session in sessions)
    return end.op in timeline.once(_starved) or any(between(some, interruption.event, end) for some in came)


def _starved(timeline: Timeline) -> frozenset[int]:
    """Return the operations of receives that got less than they asked for."""
    batches = timeline.events.completions("batch_receive")
    return frozenset(end.op for end in (*timeline.starved, *(end for end in batches if not end.count)))


def _failed(timeline: Timeline) -> dict[int | None, list[Completion]]:
    """Return the receives that failed, by handle."""
    ends = timeline.events.completions(*_RECEIVES)
    return grouped((end for end in ends if end.outcome is not Outcome.OK), lambda end: end.handle)
