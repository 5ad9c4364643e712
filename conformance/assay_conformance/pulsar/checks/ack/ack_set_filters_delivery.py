from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import is_open
from assay_conformance.model.event import Frame, Received
from assay_conformance.pulsar.timeline import (
    BatchEntry,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ms,
    open_places,
)


class _Handed(NamedTuple):
    """A message of a batch that came with an ack_set. `left`: how many more times than it was delivered, this time
    included, its entry had come with its bit set."""

    message: Received
    entry: Entry
    filtered: Frame
    left: int


def _handed(timeline: Timeline) -> Iterator[_Handed]:
    if any(any(frame.ack_sets) for frame in timeline.events.frames("MESSAGE")):
        for consumer in timeline.consumers:
            for batch in timeline.batch_entries(consumer).values():
                if any(any(frame.ack_sets) for frame in batch.intact):
                    yield from _handed_of(batch)


def _handed_of(batch: BatchEntry) -> Iterator[_Handed]:
    left, filtered = Counter[int](), None
    events: list[Frame | Received] = [*batch.intact, *batch.received]
    for event in sorted(events, key=lambda one: one.seq):
        if isinstance(event, Frame):
            places = open_places(event, batch.size)
            left.update(places)
            filtered = event if len(places) < batch.size else filtered
        elif event.message_id.batch_index >= 0:
            left[event.message_id.batch_index] -= 1
            if filtered is not None:
                yield _Handed(event, batch.entry, filtered, left[event.message_id.batch_index])


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
