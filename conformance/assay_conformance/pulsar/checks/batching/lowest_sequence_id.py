from __future__ import annotations

from assay_conformance.pulsar.checks.batching._entry_ids import ids_inside, numbered_batches
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, ms


@check("batching.lowest-sequence-id", of=numbered_batches)
def lowest_sequence_id(timeline: Timeline, unit: Unit) -> Says:
    """batching.lowest-sequence-id: the sequence_id of a batch, in SEND and in its metadata, is the lowest of its
    messages. Not judged where a message has no id of its own."""
    ids, frame = ids_inside(unit), unit.first
    if len(ids) < len(frame.members) or ids != sorted(ids) or frame.meta is None:
        return
    yield Exercised(frame)
    named = {"SEND": frame.sequence_id, "its metadata": frame.meta.sequence_id}
    other = next(((where, id) for where, id in named.items() if id != ids[0]), None)
    if other is not None:
        yield breach(
            "other-id",
            f"{unit.line}: the batch at {ms(frame.t_ns)} holds sequence ids {ids[0]} to {ids[-1]}; expected {ids[0]} "
            f"as sequence_id; in {other[0]} it is {other[1]}",
            frame,
        )
