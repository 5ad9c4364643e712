from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, initial_id, last_sequence_id
from assay_conformance.pulsar.timeline import Exercised, Producer, Says, Timeline, Unit, breach, check, ms


class _Batch(NamedTuple):
    """A unit with the ids of its messages, one of which at least is not above the producer's `last` one before."""

    unit: Unit
    ids: list[int]
    last: int


def _batches(timeline: Timeline) -> Iterator[_Batch]:
    """Yield the batches, not with key-based batching, where one may be older than what left before it."""
    for producer in timeline.producers:
        batches = timeline.view.producer_setting(producer.handle or 0, "batching") is True
        batches = batches and not timeline.batches_by_key(producer.handle)
        if producer.handle is None or not batches or not timeline.chooses_ids(producer):
            continue
        last = _initial_last_id(timeline, producer)
        for unit in producer.units:
            ids = _ids(unit)
            if ids and min(ids) <= last:
                yield _Batch(unit, ids, last)
            last = max(last, *ids) if ids else last


def _initial_last_id(timeline: Timeline, producer: Producer) -> int:
    initial = initial_id(timeline.view, producer.handle or 0)
    ready = producer.sessions[0].admitted if producer.sessions else None
    if initial is not None:
        return initial
    return NO_SEQUENCE_ID if ready is None else last_sequence_id(ready)


def _ids(unit: Unit) -> list[int]:
    """Return the ids of its messages, in order; none where one of them is unknown."""
    ids = [member.sequence_id for member in unit.first.members]
    if len(ids) == 1:
        return [unit.sequence_id]
    known = [id for id in ids if id is not None]
    return known if len(known) == len(ids) else []


@check("dedup.old-and-new-ids-in-separate-batches", of=_batches)
def old_and_new_ids_in_separate_batches(timeline: Timeline, batch: _Batch) -> Says:
    """dedup.old-and-new-ids-in-separate-batches: no batch holds both an id up to the last one known to the client and
    one above that.

    Known to a client are the ids it has sent, and where it began: its initial id, or else the last id that the broker
    named first. Judged are producers that batch and whose application chooses ids.
    """
    (unit, ids, last), frame = batch, batch.unit.first
    yield Exercised(frame)
    old, new = [id for id in ids if id <= last], [id for id in ids if id > last]
    if new:
        yield breach(
            "mixed",
            f"{unit.line}: the batch at {ms(frame.t_ns)} holds sequence id {old[0]}, not above its last one before "
            f"({last}), together with {new[0]}; expected separate batches, since a broker that deduplicates drops this "
            "one as a whole",
            frame,
        )
