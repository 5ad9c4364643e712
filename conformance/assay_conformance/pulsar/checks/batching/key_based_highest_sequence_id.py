"""batching.key-based-highest-sequence-id"""

from __future__ import annotations

from assay_conformance.pulsar.checks.batching._entry_ids import ids_inside
from assay_conformance.pulsar.checks.batching._keyed import highest_id, keyed_entries
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, ms


@check("batching.key-based-highest-sequence-id", of=keyed_entries)
def key_based_highest_sequence_id(timeline: Timeline, unit: Unit) -> Says:
    """batching.key-based-highest-sequence-id: of several messages with ids of their own, the highest is what the broker
    gets: that one it remembers."""
    ids, frame, meta = ids_inside(unit), unit.first, unit.first.meta
    if len(ids) < 2 or meta is None:
        return
    yield Exercised(frame)
    named = {"SEND": highest_id(frame), "its metadata": max(meta.sequence_id, meta.highest_sequence_id)}
    where = next((where for where, id in named.items() if id != max(ids)), None)
    if where is not None:
        yield breach(
            "other-highest",
            f"{unit.line}: the entry at {ms(frame.t_ns)} holds sequence ids {min(ids)} to {max(ids)}; the highest that "
            f"{where} names is {named[where]}",
            frame,
        )
