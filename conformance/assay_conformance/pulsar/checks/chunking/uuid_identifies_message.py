from __future__ import annotations

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.chunking._sent_chunks import chunk_of, sent_chunks
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


@check("chunking.uuid-identifies-message", of=sent_chunks)
def uuid_identifies_message(timeline: Timeline, chunk: Frame) -> Says:
    """chunking.uuid-identifies-message: the uuid of a chunk consists of its producer's name and its sequence id, so no
    two messages share it."""
    meta = chunk.meta
    if meta is None:
        return
    expected = f"{meta.producer_name}-{meta.sequence_id}"
    if meta.uuid == expected:
        yield Exercised(chunk)
        return
    sentence = f"{chunk_of(chunk)} at {ms(chunk.t_ns)} has uuid {meta.uuid!r}; expected {expected!r}"
    yield breach("other-uuid", sentence, chunk)
