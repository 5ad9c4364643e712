from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.batching._closing import between_flushes
from assay_conformance.pulsar.checks.chunking._sent_chunks import properties_bytes
from assay_conformance.pulsar.timeline import Exercised, Says, Send, Timeline, breach, check, ms

HEADER_BYTES = 128
"""More than a batch adds to a message of its own accord, and an entry to a batch, keys and properties aside."""


class _Group(NamedTuple):
    """Messages that may have been one batch, with all that it may have weighed, and what the broker takes."""

    handle: int
    sends: list[Send]
    bytes: int
    limit: int


def _groups(timeline: Timeline) -> Iterator[_Group]:
    """Yield the messages between two flushes, of producers that batch and do not compress, none too large by itself."""
    most = timeline.topology.max_message_bytes
    limit = min((one.max_message_bytes or most for one in timeline.handshakes), default=None)
    setting = timeline.view.producer_setting
    for handle in timeline.openings if limit is not None else ():
        if limit is None or setting(handle, "compression") not in (None, "NONE") or not setting(handle, "batching"):
            continue
        for sends in between_flushes(timeline.sends_of(handle), _flushes(timeline, handle)):
            sizes = [(send.invoke.size or 0) + properties_bytes(send.invoke) + HEADER_BYTES for send in sends]
            if max(sizes) <= limit:
                yield _Group(handle, sends, sum(sizes), limit)


def _flushes(timeline: Timeline, handle: int) -> list[int]:
    """Return the ends of flushes that end a batch.

    One that is asked for while another is under way may join it, and ends no batch.
    """
    ends = {end.op: end.seq for end in timeline.ends("flush")}
    found, under_way = [], list[int]()
    for flush in timeline.events.invokes_of(handle, "flush"):
        under_way = [op for op in under_way if ends.get(op, flush.seq) >= flush.seq]
        if not under_way:
            found.append(flush.seq)
        under_way.append(flush.op)
    return found


@check("batching.oversize-batch-fails-alone", of=_groups)
def oversize_batch_fails_alone(timeline: Timeline, group: _Group) -> Says:
    """batching.oversize-batch-fails-alone: messages beyond the broker's limit fail, and no others: where all that may
    have been one batch fits a frame, none of it fails as too large. A client that makes batches no larger than the
    limit fails none."""
    fits = group.bytes + HEADER_BYTES <= group.limit
    for send in group.sends:
        end = send.completion
        if end is None:
            continue
        if end.error is ErrorClass.TOO_LARGE and fits:
            yield breach(
                "failed-with-others",
                f"producer {group.handle}: message {send.invoke.number} failed as too large at {ms(end.t_ns)}; "
                f"expected it to be sent: everything that may have been in its batch has at most {group.bytes} bytes, "
                f"and the limit is {group.limit}",
                *(send.invoke, end),
            )
        elif not fits and (end.outcome is Outcome.OK or end.error is ErrorClass.TOO_LARGE):
            yield Exercised(end)
