from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

from assay_conformance.checks.consumption import is_torn
from assay_conformance.model.event import Event
from assay_conformance.pulsar.checks.dead_letter._ambiguous_receipts import AmbiguousReceipts
from assay_conformance.pulsar.checks.dead_letter._moving import judge_letter_not_tried, moved_to_dead_letter
from assay_conformance.pulsar.checks.dead_letter._settling import allowed_ns, check_delay_known, judge_settled
from assay_conformance.pulsar.timeline import Call, Entry, Says, Timeline, breach, check, each, looked_ns, ms
from assay_conformance.pulsar.timeline.letters import Kind


@check("dead-letter.large-message-chunked")
def large_message_chunked(timeline: Timeline) -> Says:
    """dead-letter.large-message-chunked: a chunked message is redelivered until it becomes a dead letter, like any
    other.

    No redelivery is expected where a fault dropped chunks or the permits for them, or by a consumer that is not
    subscribed.
    """
    outcomes = moved_to_dead_letter(timeline, large=True)
    yield from each(outcomes.ended, judge_settled, timeline, AmbiguousReceipts(timeline))
    yield from each(outcomes.ended, judge_letter_not_tried, timeline)
    yield from each(_nacked(timeline, outcomes.unsettled), _comes_again, timeline, _torn(timeline, outcomes.unsettled))


def _nacked(timeline: Timeline, unsettled: list[Call]) -> Iterator[tuple[Call, Event | None]]:
    """Yield messages that came in chunks and were nacked, each with what came next: it was delivered or nacked once
    more, or its letter left."""
    again: dict[Entry, list[Event]] = {call.entry: [] for call in unsettled}
    for consumer in timeline.consumers if unsettled else ():
        for message in timeline.received(consumer):
            entry = timeline.entry_of(message)
            if entry in again:
                again[entry].append(message)
    left: dict[Entry | None, list[Event]] = {}
    for letter in timeline.letters.of(Kind.DEAD) if unsettled else ():
        left.setdefault(letter.origin, []).append(letter.frame)
    for call in unsettled:
        again[call.entry].append(_called(call))
        again[call.entry] += left.get(timeline.letters.origin_of(call.entry), ())
    for call in unsettled:
        later = (one for one in again[call.entry] if one.seq > _called(call).seq)
        yield call, min(later, key=lambda one: one.seq, default=None)


def _called(call: Call) -> Event:
    return call.operation.completion or call.invoke


def _torn(timeline: Timeline, unsettled: list[Call]) -> dict[int, int]:
    """Return since when consumers did not get something as it was sent, or their permits did not arrive."""
    found: dict[int, int] = {}
    for frame in timeline.events.frames("MESSAGE", "FLOW") if unsettled else ():
        consumer = timeline.consumer_of(frame) if is_torn(frame) else None
        if consumer is not None:
            found.setdefault(consumer.handle, frame.seq)
    return found


def _comes_again(timeline: Timeline, torn: dict[int, int], nacked: tuple[Call, Event | None]) -> Says:
    """Judge whether it is redelivered, at the latest when a receive ends with fewer messages than it was to bring."""
    (call, until), consumer = nacked, nacked[0].consumer
    begin = bisect_right(timeline.starved, _called(call).seq, key=lambda end: end.seq)
    for short in islice(timeline.starved, begin, None):
        if short.handle != consumer.handle:
            continue
        if (until is not None and short.seq > until.seq) or torn.get(consumer.handle, short.seq) < short.seq:
            return
        session = timeline.session_at(consumer, call.entry.topic, short)
        ready = None if session is None else session.admitted
        if ready is None or ready.seq > short.seq:
            continue
        due_ns = looked_ns(timeline, consumer, max(call.called_ns + allowed_ns(timeline, consumer), ready.t_ns))
        if timeline.bounds.is_missing("answer", due_ns, short.t_ns, what=f"{call.entry} was redelivered"):
            check_delay_known(timeline, consumer)
            yield breach(
                "never-again",
                f"consumer {consumer.handle}: {call.entry}, which came in chunks, was nacked at {ms(call.called_ns)}; "
                f"expected its redelivery; it had not come by {ms(short.t_ns)}, when a receive ended without it",
                *(timeline.letters.stored(call.entry), call.message, short),
            )
            return
