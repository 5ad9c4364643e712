from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import is_open
from assay_conformance.model.event import Frame, Received
from assay_conformance.pulsar.timeline import Consumer, Entry, Exercised, Says, Timeline, breach, check, ms


class _Handed(NamedTuple):
    """A message of a batch that came with an ack_set. `left`: how many more times than it was handed over, this time
    included, its entry had come with its bit set."""

    message: Received
    entry: Entry
    filtered: Frame
    left: int


def _handed(timeline: Timeline) -> Iterator[_Handed]:
    for entry, events in _filtered(timeline).values():
        left, filtered = Counter[int](), None
        for event in sorted(events, key=lambda one: one.seq):
            if isinstance(event, Frame):
                open_ = [index for index in range(_size(event)) if is_open(event, index)]
                left.update(open_)
                filtered = event if len(open_) < _size(event) else filtered
            elif event.message_id.batch_index >= 0:
                left[event.message_id.batch_index] -= 1
                if filtered is not None:
                    yield _Handed(event, entry, filtered, left[event.message_id.batch_index])


def _filtered(timeline: Timeline) -> dict[tuple[int, Entry], tuple[Entry, list[Frame | Received]]]:
    """Return, by consumer and entry, all that came of batches with an ack_set and was handed over."""
    messages = timeline.events.frames("MESSAGE")
    came = [(frame, _consumer(timeline, frame)) for frame in messages if any(frame.ack_sets)]
    found = {(one.handle, _entry(timeline, frame)): list[Frame | Received]() for frame, one in came if one is not None}
    for frame in messages if found else ():
        consumer = _consumer(timeline, frame)
        if consumer is not None and (consumer.handle, _entry(timeline, frame)) in found:
            found[consumer.handle, _entry(timeline, frame)].append(frame)
    for consumer in timeline.consumers if found else ():
        for message in timeline.received(consumer):
            entry = timeline.entry_of(message)
            if entry is not None and (consumer.handle, entry) in found:
                found[consumer.handle, entry].append(message)
    return {key: (key[1], events) for key, events in found.items()}


def _consumer(timeline: Timeline, frame: Frame) -> Consumer | None:
    """Return the consumer to which it came undamaged."""
    return timeline.consumer_of(frame) if frame.to_receiver and frame.intact is not False and frame.ids else None


def _entry(timeline: Timeline, frame: Frame) -> Entry:
    session = timeline.consumer_sessions.of(frame)
    return Entry("" if session is None else session.topic, frame.ids[0].ledger, frame.ids[0].entry)


def _size(frame: Frame) -> int:
    return (None if frame.meta is None else frame.meta.batch) or 0


@check("ack.ack-set-filters-delivery", of=_handed)
def ack_set_filters_delivery(timeline: Timeline, handed: _Handed) -> Says:
    """ack.ack-set-filters-delivery: a message of a batch is delivered no more often than its entry arrived with the bit
    of that message set in the ack_set."""
    message, entry, filtered, left = handed
    index = message.message_id.batch_index
    if is_open(filtered, index):
        yield Exercised(message)
    elif left < 0:
        yield breach(
            "filtered-delivered",
            f"batch {entry} came to consumer {message.handle} at {ms(filtered.t_ns)} with an ack_set without message "
            f"{index}; expected that message not to be delivered; it was, at {ms(message.t_ns)}",
            *(filtered, message),
        )
