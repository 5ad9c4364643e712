from __future__ import annotations

from assay_conformance.history.events import grouped
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, ms
from assay_conformance.pulsar.timeline.incoming import content


def _payloads(timeline: Timeline) -> dict[int | None, set[object]]:
    """Return by producer the payloads that it was asked to send."""
    calls = grouped(timeline.events.invokes("send"), lambda call: call.handle)
    return {handle: {call.payload for call in its} for handle, its in calls.items()}


@check("batching.compressed-as-one", of=lambda timeline: timeline.batches)
def compressed_as_one(timeline: Timeline, unit: Unit) -> Says:
    """batching.compressed-as-one: the body of a compressed batch is its messages with their headers, compressed once;
    its uncompressed size is that of this body. Whether the body is in the format of its codec is judged by
    `compression.interoperable-format`."""
    frame, meta = unit.first, unit.first.meta
    if meta is None or meta.compression == "NONE" or (meta.unpacked_bytes is not None and meta.unpacked_bytes < 0):
        return
    batch = f"the {meta.compression} batch at {ms(frame.t_ns)}"
    if meta.unpacked_bytes is not None:
        says = (
            f"has an uncompressed_size of {meta.uncompressed_size} bytes; expected {meta.unpacked_bytes}, to which it "
            "decompresses"
        )
        yield breach("wrong-size", f"{unit.line}: {batch} {says}", frame)
        return
    if not frame.members:
        came = (
            f"bytes, its uncompressed_size; expected {meta.batch} messages with their headers; it cannot be parsed as "
            "such"
        )
        yield breach("unreadable", f"{unit.line}: {batch} decompresses to {meta.uncompressed_size} {came}", frame)
        return
    if len(frame.members) > 1:
        yield Exercised(frame)
    asked = timeline.once(_payloads).get(unit.line.handle, set())
    members = enumerate(frame.members) if unit.line.handle not in timeline.bursts else ()
    odd = next(((index, one) for index, one in members if one.payload not in asked), None)
    if odd is not None:
        index, member = odd
        yield breach(
            "member-changed",
            f"{unit.line}: message {index} in the batch at {ms(frame.t_ns)} is {content(member)}; expected a message "
            "that the application sent; it is none of them",
            frame,
        )
