from __future__ import annotations

from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, ms
from assay_conformance.pulsar.timeline.incoming import content


@check("compression.uncompressed-size-exact", of=lambda timeline: timeline.units)
def uncompressed_size_exact(timeline: Timeline, unit: Unit) -> Says:
    """compression.uncompressed-size-exact: of unbatched messages, without compression the payload is on the wire as it
    is; with it, the body decompresses to the payload, and to the size in the metadata. A client may leave a payload
    uncompressed, if the metadata say so."""
    frame, meta, handle = unit.first, unit.first.meta, unit.line.handle or 0
    alone = meta is not None and meta.batch is None and meta.chunk_id is None
    if meta is None or not alone or frame.intact is False or meta.unpacked_bytes == -1:
        return
    if meta.unpacked_bytes is not None:
        yield breach(
            "wrong-size",
            f"{unit.line}: the {meta.compression} message at {ms(frame.t_ns)} has an uncompressed size of "
            f"{meta.uncompressed_size} bytes in its metadata; expected {meta.unpacked_bytes}, to which it decompresses",
            frame,
        )
        return
    if meta.compression != "NONE" and timeline.view.producer_setting(handle, "compression") == "NONE":
        yield breach(
            "compressed-unasked",
            f"{unit.line}: the message at {ms(frame.t_ns)} is compressed with {meta.compression}; expected none, as "
            "the producer is configured",
            frame,
        )
    if handle in timeline.bursts or not frame.members:
        return
    yield Exercised(frame)
    member, own = frame.members[0], next(timeline.sends(unit), None)
    if own is not None and own.invoke.digest == member.digest and own.invoke.size == member.size:
        return
    asked = (send.invoke for send in reversed(timeline.sends_of(handle)) if send.invoke.seq < frame.seq)
    if not any(invoke.payload == member.payload for invoke in asked):
        yield breach(
            "payload-changed",
            f"{unit.line}: the message at {ms(frame.t_ns)} carries {content(member)}; expected the payload of one of "
            "its send calls; it is that of none",
            frame,
        )
