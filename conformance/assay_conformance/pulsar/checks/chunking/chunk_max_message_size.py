from __future__ import annotations

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.chunking._sent_chunks import chunk_of, splits
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, ms


@check("chunking.chunk-max-message-size", of=lambda timeline: timeline.sent)
def chunk_max_message_size(timeline: Timeline, sent: tuple[Unit, Frame]) -> Says:
    """chunking.chunk-max-message-size: a message is split into chunks of at most the configured size. A message that is
    sent whole is measured where it is not compressed."""
    unit, frame = sent
    handle, meta = unit.line.handle or 0, frame.meta
    most = int(timeline.view.producer_setting(handle, "chunk_max_message_bytes") or 0)
    if not most or meta is None or not splits(timeline, handle):
        return
    chunks, total = meta.chunks, meta.chunk_total_bytes
    if meta.chunk_id is None:
        chunks, total = 1, sum(member.size for member in frame.members)
        if total <= most or meta.compression != "NONE" or meta.batch is not None:
            return
    if not chunks or total is None:
        return  # chunking.chunks-carry-their-fields
    if chunks * most >= total:
        yield Exercised(frame)
        return
    yield breach(
        "larger",
        f"{chunk_of(frame)} at {ms(frame.t_ns)}: chunks may have {most} bytes; expected {-(-total // most)} or more "
        f"for {total} bytes; there are {chunks}",
        *(timeline.openings.get(handle), frame),
    )
