from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Frame, Invoke, Meta
from assay_conformance.pulsar.checks.chunking._sent_chunks import chunk_of
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


class _Sent(NamedTuple):
    """A SEND of a producer whose chunks may have `most` bytes."""

    frame: Frame
    meta: Meta
    most: int
    opening: Invoke | None


def _sent(timeline: Timeline) -> Iterator[_Sent]:
    """Yield what was sent without batching; chunking.excludes-batching judges batching as well."""
    setting = timeline.view.producer_setting
    for unit, frame in timeline.sent:
        handle = unit.line.handle or 0
        most = int(setting(handle, "chunk_max_message_bytes") or 0)
        splits = most and setting(handle, "chunking") is True and setting(handle, "batching") is not True
        if splits and frame.meta is not None:
            yield _Sent(frame, frame.meta, most, timeline.openings.get(handle))


@check("chunking.chunk-max-message-size", of=_sent)
def chunk_max_message_size(timeline: Timeline, sent: _Sent) -> Says:
    """chunking.chunk-max-message-size: a message is split into chunks of at most the configured size. A message that is
    sent whole is measured where it is not compressed."""
    frame, meta, most, opening = sent
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
        *(opening, frame),
    )
