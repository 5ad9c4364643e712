from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.batching._keyed import highest_id, keyed_entries, keys_inside, quoted
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, ms


def _by_producer(timeline: Timeline) -> Iterator[list[Unit]]:
    return (list(units) for _, units in groupby(keyed_entries(timeline), lambda unit: unit.line))


@check("batching.key-based-order", of=_by_producer)
def key_based_order(timeline: Timeline, units: list[Unit]) -> Says:
    """batching.key-based-order: the sequence id of each entry is above all ids sent before, and the messages of a key
    leave in send order.

    Ids are judged where the client assigns them. The precondition is that ranges interleave: an entry begins with a
    message that was sent before another which has left.
    """
    furthest = -1
    for unit in units:
        if min(unit.numbers) < furthest:
            yield Exercised(unit.first)
        furthest = max(furthest, *unit.numbers)
    if not timeline.chooses_ids(units[0].line):
        yield from _ids_rise(units)
    yield from _keys_keep_order(timeline, units)


def _ids_rise(units: list[Unit]) -> Says:
    highest: Frame | None = None
    for unit in units:
        frame = unit.first
        if highest is not None and (frame.sequence_id or 0) <= highest_id(highest):
            yield breach(
                "id-told-before",
                f"{unit.line}: the entry at {ms(frame.t_ns)} has sequence id {frame.sequence_id}; expected one above "
                f"{highest_id(highest)}, which was sent at {ms(highest.t_ns)}, since a broker that deduplicates drops "
                "it",
                *(highest, frame),
            )
        if highest is None or highest_id(frame) > highest_id(highest):
            highest = frame


def _keys_keep_order(timeline: Timeline, units: list[Unit]) -> Says:
    last: dict[bytes, tuple[int, Frame]] = {}
    for unit in units:
        frame = unit.first
        for number, key in zip(unit.numbers, keys_inside(timeline, unit), strict=False):
            before, first = last.get(key, (number, frame))
            last[key] = number, frame
            if number < before:
                yield breach(
                    "key-out-of-order",
                    f"{unit.line}: message {number} with {quoted(key)} left at {ms(frame.t_ns)}; expected it before "
                    f"message {before} of that key, which the application sent later and which left at "
                    f"{ms(first.t_ns)}",
                    *(first, frame),
                )
