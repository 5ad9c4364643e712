"""Where producers begin: at a random partition, so that many of them do not all begin at one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from assay_conformance.judging.tolerance import BY_CHANCE
from assay_conformance.pulsar.timeline import (
    Exercised,
    PartitionedProducer,
    Routed,
    Says,
    Timeline,
    breach,
    is_keyless,
    ms,
)


def first_messages(timeline: Timeline, judged: Callable[[PartitionedProducer], bool]) -> Iterable[Sequence[Routed]]:
    """Return of each topic the first message without a key of each judged producer, in order of the calls."""
    found: dict[str, list[Routed]] = {}
    for handle, messages in timeline.routed_by_producer.items():
        keyless = [send.invoke.number for send in timeline.sends_of(handle) if is_keyless(send.invoke)]
        first = next((one for one in messages if keyless and one.number == keyless[0]), None)
        if first is not None and judged(first.producer) and handle not in timeline.bursts:
            found.setdefault(first.producer.topic, []).append(first)
    return found.values()


def begin_apart(timeline: Timeline, messages: Sequence[Routed]) -> Says:
    """Judge whether so many producers of one topic do not all begin at the same partition."""
    one, last, partitions = messages[0], messages[-1], messages[0].producer.partitions
    if partitions ** (1.0 - len(messages)) >= BY_CHANCE:
        return
    yield Exercised(last.frame)
    if len({message.partition for message in messages}) == 1:
        yield breach(
            "all-at-one",
            f"expected {len(messages)} producers of a topic of {partitions} partitions not to begin all at one; from "
            f"{one.producer.handle} at {ms(one.frame.t_ns)} to {last.producer.handle} at {ms(last.frame.t_ns)} they "
            f"all began at partition {one.partition}",
            *(one.frame, last.frame),
        )
