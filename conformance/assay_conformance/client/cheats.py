"""What mutations do to a resend. The honest client has no part in this file: its units go out as they are."""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.client.mutations import Mutation
from assay_conformance.client.ops import Op
from assay_conformance.client.shared import Shared
from assay_conformance.wire import MessageMetadata, decode, encode


def spoilt(units: Sequence[Op], last_receipted: Op | None, shared: Shared) -> list[Op]:
    """The units of a resend, oldest first, as the mutations in force want them written."""
    written = [op for op in units if op.session is not None]
    unwritten = [op for op in units if op.session is None]
    if shared.mutated(Mutation.RESTAMPS_RESEND):
        for op in written:
            _restamp(op, shared.unix_ms())
    if shared.mutated(Mutation.BLANKS_RESEND):
        for op in written:
            _blank(op)
    if shared.mutated(Mutation.SWAPS_SENDS_WHILE_AWAY) and len(unwritten) > 1:
        _swap_payloads(*unwritten[-2:])
    if shared.mutated(Mutation.OVERTAKES_RESEND):
        return unwritten + written
    if shared.mutated(Mutation.RESENDS_RECEIPTED) and last_receipted is not None:
        return [last_receipted, *units]
    return list(units)


def _restamp(op: Op, unix_ms: int) -> None:
    frame = decode(op.frame)
    assert frame.payload is not None
    metadata = frame.payload.metadata
    metadata.publish_time = unix_ms
    op.frame = encode(frame.command, metadata=metadata, data=frame.payload.data)


def _blank(op: Op) -> None:
    frame = decode(op.frame)
    assert frame.payload is not None
    metadata = frame.payload.metadata
    if metadata.compression or metadata.HasField("uuid"):
        return  # What is made of the application's buffer is a buffer of its own.
    op.frame = encode(frame.command, metadata=metadata, data=bytes(len(frame.payload.data)))


def _swap_payloads(first: Op, second: Op) -> None:
    """Two units of one message each change payloads and keep their sequence ids."""
    one, two = decode(first.frame), decode(second.frame)
    for op, own, other in ((first, one, two), (second, two, one)):
        assert other.payload is not None
        metadata = MessageMetadata()
        metadata.CopyFrom(other.payload.metadata)
        metadata.sequence_id = op.sequence_id
        op.frame = encode(own.command, metadata=metadata, data=other.payload.data)
