from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

from assay_conformance.pulsar.checks.routing._turns import in_call_order
from assay_conformance.pulsar.timeline import (
    MS,
    Exercised,
    PartitionedProducer,
    Routed,
    Says,
    Timeline,
    breach,
    check,
    each,
    ms,
)

WHOLE_MS = 5
"""Clients count whole milliseconds, and not at the moment of the call."""


@check("routing.round-robin-batching-window")
def round_robin_batching_window(timeline: Timeline) -> Says:
    """routing.round-robin-batching-window: under round robin with batching a producer stays on a partition for a
    window, and then goes to the next.

    A window lasts `batching_partition_switch_frequency` publish delays. Between two changes there is a window, or as
    much as fills a batch; messages that come without a pause stay no longer than one and a publish delay. Of delays
    below the tolerance, the machine's own pauses may take more than one.
    """
    stretches = list(_stretches(timeline))
    between = [stays for stretch in stretches for stays in zip(stretch, stretch[1:], stretch[2:], strict=False)]
    yield from each((stay for stretch in stretches for stay in stretch), _not_too_long, timeline)
    yield from each(between, _goes_to_next)
    yield from each(between, _not_too_short, timeline)


class _Stay(NamedTuple):
    """Messages in a row to one partition, by the order of their calls."""

    messages: list[Routed]

    @property
    def producer(self) -> PartitionedProducer:
        return self.messages[0].producer

    @property
    def partition(self) -> int:
        return self.messages[0].partition

    @property
    def size(self) -> int:
        return sum(message.send.invoke.size or 0 for message in self.messages)

    @property
    def first_ns(self) -> int:
        return _called_ns(self.messages[0])

    @property
    def last_ns(self) -> int:
        return _called_ns(self.messages[-1])


def _called_ns(message: Routed) -> int:
    send = message.send
    return send.invoke.t_ns if send.called_ns is None else send.called_ns


def _delay_ns(producer: PartitionedProducer) -> int:
    return int(producer.setting("batching_max_publish_delay_ms") or 0) * MS


def _window_ns(producer: PartitionedProducer) -> int:
    return int(producer.setting("batching_partition_switch_frequency") or 0) * _delay_ns(producer)


def _stretches(timeline: Timeline) -> Iterator[list[_Stay]]:
    """Yield stays one after the other, without a pause: over one the partition may have changed unseen."""
    for messages in timeline.routed_by_producer.values():
        window_ns = _window_ns(messages[0].producer)
        if window_ns and messages[0].producer.takes_turns(batching=True):
            for stretch in in_call_order(message for message in messages if message.is_keyless):
                yield from _without_pause(stretch, window_ns // 2)


def _without_pause(messages: list[Routed], pause_ns: int) -> Iterator[list[_Stay]]:
    pairs = enumerate(pairwise(messages), 1)
    pauses = [place for place, (before, after) in pairs if _called_ns(after) - _called_ns(before) > pause_ns]
    for begin, end in pairwise([0, *pauses, len(messages)]):
        yield [_Stay(list(stay)) for _, stay in groupby(messages[begin:end], lambda message: message.partition)]


def _not_too_long(timeline: Timeline, stay: _Stay) -> Says:
    first_ns, last_ns, due_ns = stay.first_ns, stay.last_ns, stay.first_ns + _window_ns(stay.producer)
    stays = last_ns > due_ns + _delay_ns(stay.producer)
    if stays and timeline.bounds.is_overdue("notice", first_ns, last_ns, due_ns=due_ns, what="the next partition"):
        yield breach(
            "stayed-too-long",
            f"{stay.messages[-1]} went to partition {stay.partition} at {ms(last_ns)}, as all from {ms(first_ns)} on; "
            f"expected the next partition after a window of {_window_ns(stay.producer) // MS} ms",
            *(stay.messages[0].frame, stay.messages[-1].frame),
        )


def _goes_to_next(stays: tuple[_Stay, _Stay, _Stay]) -> Says:
    _, stay, after = stays
    yield Exercised(stay.messages[0].frame)
    partitions = stay.producer.partitions
    expected = (stay.partition + 1) % partitions
    if after.partition != expected:
        yield breach(
            "out-of-turn",
            f"{after.messages[0]} went to partition {after.partition} after partition {stay.partition}; expected "
            f"partition {expected} of {partitions}",
            *(stay.messages[-1].frame, after.messages[0].frame),
        )


def _not_too_short(timeline: Timeline, stays: tuple[_Stay, _Stay, _Stay]) -> Says:
    before, stay, after = stays
    setting, window_ns, next_one = stay.producer.setting, _window_ns(stay.producer), after.messages[0]
    is_full = len(stay.messages) >= int(setting("batching_max_messages") or 1)
    size_with_next = stay.size + (next_one.send.invoke.size or 0)
    if is_full or size_with_next >= int(setting("batching_max_bytes") or 1):
        return
    since_ns, until_ns = before.last_ns, after.first_ns
    if until_ns - since_ns < window_ns - WHOLE_MS * MS:
        timeline.bounds.check_fair("notice", since_ns, until_ns, what="whether a partition was left before its time")
        yield breach(
            "left-early",
            f"{next_one} went to partition {after.partition} at {ms(until_ns)}, and its producer had moved to "
            f"partition {stay.partition} after {ms(since_ns)}; expected it to stay for a window of {window_ns // MS} "
            f"ms, since {len(stay.messages)} messages of {stay.size} bytes fill no batch",
            *(stay.messages[0].frame, next_one.frame),
        )
