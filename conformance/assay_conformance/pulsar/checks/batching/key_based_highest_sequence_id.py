from __future__ import annotations

from assay_conformance.pulsar.checks.batching._entry_ids import ids_inside
from assay_conformance.pulsar.checks.batching._keyed import highest_id, keyed_entries
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, ms


@check("batching.key-based-highest-sequence-id", of=keyed_entries)
def key_based_highest_sequence_id(timeline: Timeline, unit: Unit) -> Says:
    """batching.key-based-highest-sequence-id: an entry whose messages have sequence ids of their own names the highest
    of them, in SEND and in its metadata: that one the broker records."""
    ids, frame, meta = ids_inside(unit), unit.first, unit.first.meta
    if len(ids) < 2 or meta is None:
        return
    yield Exercised(frame)
    named = {"SEND": highest_id(frame), "its metadata": max(meta.sequence_id, meta.highest_sequence_id)}
    where = next((where for where, id in named.items() if id != max(ids)), None)
    if where is not None:
        yield breach(
            "other-highest",
            f"{unit.line}: the entry at {ms(frame.t_ns)} holds sequence ids {min(ids)} to {max(ids)}; expected "
            f"{max(ids)} as highest_sequence_id; in {where} it is {named[where]}",
            frame,
        )
