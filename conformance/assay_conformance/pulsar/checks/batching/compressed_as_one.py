from __future__ import annotations

from collections.abc import Iterator, Set
from typing import NamedTuple

from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, ms


class _Compressed(NamedTuple):
    """A compressed batch, and the payloads that its producer was asked to send: None where not all are listed."""

    unit: Unit
    asked: Set[object] | None


def _compressed(timeline: Timeline) -> Iterator[_Compressed]:
    asked: dict[int, Set[object]] = {}
    for unit in timeline.batches:
        handle, meta = unit.line.handle or 0, unit.first.meta
        if meta is not None and meta.compression != "NONE":
            if handle not in asked:
                asked[handle] = {send.invoke.payload for send in timeline.sends_of(handle)}
            yield _Compressed(unit, None if handle in timeline.bursts else asked[handle])


@check("batching.compressed-as-one", of=_compressed)
def compressed_as_one(timeline: Timeline, compressed: _Compressed) -> Says:
    """batching.compressed-as-one: the body of a compressed batch is its messages with their headers, compressed once;
    its uncompressed size is that of this body. Whether the body is in the format of its codec is judged by
    `compression.interoperable-format`."""
    (unit, asked), frame, meta = compressed, compressed.unit.first, compressed.unit.first.meta
    if meta is None or (meta.unpacked_bytes is not None and meta.unpacked_bytes < 0):
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
    members = enumerate(frame.members) if asked is not None else ()
    odd = next(((index, one) for index, one in members if asked is not None and one.payload not in asked), None)
    if odd is not None:
        index, member = odd
        yield breach(
            "member-changed",
            f"{unit.line}: message {index} in the batch at {ms(frame.t_ns)} is {member.size} bytes of digest "
            f"{member.digest:08x}, which is none of the messages that the application sent",
            frame,
        )
