from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import to_client
from assay_conformance.model.event import FORGED, Frame
from assay_conformance.pulsar.timeline import (
    Exercised,
    IncomingMessage,
    Says,
    Timeline,
    check,
    incoming_messages,
    not_delivered,
)
from assay_conformance.pulsar.timeline.incoming import other_content


def _batches_of_one(timeline: Timeline) -> Iterator[Frame]:
    for frame in timeline.events.frames("MESSAGE"):
        is_one = frame.meta is not None and frame.meta.batch == 1 and len(frame.members) == 1
        if is_one and to_client(frame) and frame.fate not in FORGED and frame.intact is not False:
            yield frame


@check("batching.batch-of-one-is-unpacked", of=lambda timeline: incoming_messages(timeline, _batches_of_one(timeline)))
def batch_of_one_is_unpacked(timeline: Timeline, incoming: IncomingMessage) -> Says:
    """batching.batch-of-one-is-unpacked: the message of a batch of one is delivered, without the header it has in
    the batch."""
    member, got = incoming.member, incoming.taken
    if got is not None:
        yield Exercised(got)
    if got is not None and got.payload != member.payload:
        yield other_content("changed", got, member, f"{incoming.entry}, a batch of one message,", incoming.frame)
    yield from not_delivered(timeline, incoming, "a batch of one message")
