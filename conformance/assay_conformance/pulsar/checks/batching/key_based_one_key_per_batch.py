from __future__ import annotations

from assay_conformance.pulsar.checks.batching._keyed import keyed_entries, keys_inside, quoted
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, ms

NO_KEY = b"NONE_KEY"
"""What a client may write where there is none, and what Key_Shared takes for it (broker, Commands.NONE_KEY)."""


@check("batching.key-based-one-key-per-batch", of=keyed_entries)
def key_based_one_key_per_batch(timeline: Timeline, unit: Unit) -> Says:
    """batching.key-based-one-key-per-batch: the messages of an entry have one key, the ordering key where there is one,
    and the entry names it."""
    keys, frame, meta = keys_inside(timeline, unit), unit.first, unit.first.meta
    if meta is None:
        return
    named, odd = meta.ordering_key or (meta.key or "").encode(), next((key for key in keys if key != keys[0]), None)
    if meta.batch is not None:
        yield Exercised(frame)
    if odd is not None:
        yield breach(
            "keys-mixed",
            f"{unit.line}: the entry at {ms(frame.t_ns)} holds messages with {quoted(keys[0])} and with "
            f"{quoted(odd)}; expected one key",
            frame,
        )
    elif keys and named not in ({keys[0]} if keys[0] else {b"", NO_KEY}):
        yield breach(
            "key-not-told",
            f"{unit.line}: the messages of the entry at {ms(frame.t_ns)} have {quoted(keys[0])}; expected it in the "
            f"metadata of the entry, too; they have {quoted(named)}",
            frame,
        )
