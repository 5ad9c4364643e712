from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Frame, Received
from assay_conformance.pulsar.checks.dead_letter._counting import most_redeliveries
from assay_conformance.pulsar.timeline import (
    Breach,
    Consumer,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    each,
    ms,
)
from assay_conformance.pulsar.timeline.letters import Kind, Letter
from assay_conformance.pulsar.timeline.originals import times_of


class _Tries(NamedTuple):
    """Of every original: when it was sent to a consumer, and how often it had been round when it was to go round."""

    sent: dict[Entry, list[Frame]]
    rounds: dict[Entry, list[tuple[int, int]]]


@check("dead-letter.max-redeliver-count")
def max_redeliver_count(timeline: Timeline) -> Says:
    """dead-letter.max-redeliver-count: no message becomes a dead letter before it was redelivered, or sent to the retry
    letter topic, maxRedeliverCount times; and none is delivered, or sent there, more often than that.

    A message that arrives with the maximum as its count is delivered once more by the Java and C++ clients, and becomes
    a dead letter without a delivery in the Go and Rust clients.
    """
    yield from each(_handed_over_beyond(timeline), _judge_beyond, timeline)
    yield from each(timeline.letters.all, _judge_in_its_turn, timeline, _tries(timeline))


def _handed_over_beyond(timeline: Timeline) -> Iterator[tuple[Consumer, int, Received]]:
    for consumer in timeline.consumers:
        most = most_redeliveries(timeline, consumer)
        received = timeline.received(consumer) if most else ()
        yield from ((consumer, most, message) for message in received if (message.redelivery_count or 0) > most)


def _judge_beyond(timeline: Timeline, handed: tuple[Consumer, int, Received]) -> Says:
    consumer, most, message = handed
    yield breach(
        "beyond-maximum",
        f"consumer {consumer.handle} received {timeline.entry_of(message) or 'a message'} at {ms(message.t_ns)} with "
        f"redelivery count {message.redelivery_count}; expected a dead letter beyond {most}",
        message,
    )


def _tries(timeline: Timeline) -> _Tries:
    letters, tries = timeline.letters, _Tries({}, {})
    for delivery in timeline.deliveries if letters.all else ():
        if delivery.came:
            tries.sent.setdefault(letters.origin_of(delivery.entry), []).append(delivery.frame)
    for one in letters.rounds:
        tries.rounds.setdefault(one.origin, []).append((one.call.seq, one.times))
    return tries


def _judge_in_its_turn(timeline: Timeline, tries: _Tries, letter: Letter) -> Says:
    """Judge whether a letter is in its turn.

    The messages of a batch go round each for itself, and name the same origin: the one that went furthest counts.
    """
    most, origin, frame = timeline.setting(letter.address.consumer, "max_redeliver_count"), letter.origin, letter.frame
    if origin is None or not most:
        return
    sent = [one for one in tries.sent.get(origin, ()) if one.seq < frame.seq]
    furthest = max(sent, key=lambda one: (one.redelivery_count or 0, one.seq), default=None)
    if letter.kind is Kind.RETRY:
        if times_of(letter.says) > most:
            yield _wrong(letter, "beyond-maximum", f"retry {times_of(letter.says)} of {most}", furthest)
        return
    counts = [times for seq, times in tries.rounds.get(origin, ()) if seq < frame.seq]
    if furthest is not None and furthest.redelivery_count is not None:
        counts.append(furthest.redelivery_count)
    if counts and max(counts) < most:
        yield _wrong(letter, "too-soon", f"redelivery {max(counts)} of {most}", furthest)
    elif counts:
        yield Exercised(frame)


def _wrong(letter: Letter, code: str, what: str, furthest: Frame | None) -> Breach:
    return breach(code, f"{letter} left at {ms(letter.frame.t_ns)}, after {what}", furthest, letter.frame)
