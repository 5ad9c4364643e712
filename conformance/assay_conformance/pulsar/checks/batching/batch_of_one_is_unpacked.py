from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import to_client
from assay_conformance.model.event import FORGED, Frame
from assay_conformance.pulsar.timeline import (
    Exercised,
    IncomingMessage,
    Says,
    Timeline,
    breach,
    check,
    incoming_messages,
    ms,
    not_delivered,
)


def _batches_of_one(timeline: Timeline) -> Iterator[Frame]:
    for frame in timeline.events.frames("MESSAGE"):
        is_one = frame.meta is not None and frame.meta.batch == 1 and len(frame.members) == 1
        if is_one and to_client(frame) and frame.fate not in FORGED and frame.intact is not False:
            yield frame


@check("batching.batch-of-one-is-unpacked", of=lambda timeline: incoming_messages(timeline, _batches_of_one(timeline)))
def batch_of_one_is_unpacked(timeline: Timeline, incoming: IncomingMessage) -> Says:
    """batching.batch-of-one-is-unpacked: the message of a batch of one is delivered, without the header it has in
    the batch."""
    handle, member, got = incoming.consumer.handle, incoming.member, incoming.taken
    if got is not None:
        yield Exercised(got)
    if got is not None and got.payload != member.payload:
        yield breach(
            "changed",
            f"consumer {handle} received {incoming.entry}, a batch of one message, at {ms(got.t_ns)} as {got.size} "
            f"bytes of digest {got.digest:08x}; expected the message in it, of {member.size} bytes and digest "
            f"{member.digest:08x}",
            *(incoming.frame, got),
        )
    yield from not_delivered(timeline, incoming, "a batch of one message")
