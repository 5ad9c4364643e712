from __future__ import annotations

from assay_conformance.pulsar.checks.batching._entry_ids import ids_inside, numbered_batches
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, ms


@check("batching.highest-sequence-id", of=numbered_batches)
def highest_sequence_id(timeline: Timeline, unit: Unit) -> Says:
    """batching.highest-sequence-id: a batch names its highest sequence id, and each message has its own. Not judged
    where the ids start again in the middle of a batch (`ordering.sequence-ids-increase-by-one`)."""
    ids, frame = ids_inside(unit), unit.first
    yield Exercised(frame)
    if len(ids) < len(frame.members):
        yield breach(
            "no-single-ids",
            f"{unit.line}: of {len(frame.members)} messages in the batch at {ms(frame.t_ns)} {len(ids)} carry a "
            "sequence id of their own, expected all",
            frame,
        )
        return
    named = {
        "SEND": frame.highest_sequence_id or 0,
        "its metadata": frame.meta.highest_sequence_id if frame.meta else 0,
    }
    other = next(((where, id) for where, id in named.items() if id != ids[-1]), None)
    if ids == sorted(ids) and other is not None:
        where, highest = other
        yield breach(
            "wrong-highest-id" if highest else "no-highest-id",
            f"{unit.line}: the batch at {ms(frame.t_ns)} holds sequence ids {ids[0]} to {ids[-1]}; expected {ids[-1]} "
            f"as highest_sequence_id; in {where} it is {highest or 'nothing'}",
            frame,
        )
