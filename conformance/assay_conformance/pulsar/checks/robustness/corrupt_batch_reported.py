from __future__ import annotations

from collections import Counter, defaultdict

from assay_conformance.model.event import Frame, Received
from assay_conformance.pulsar.checks._discarding import Discarding, judge_acknowledged
from assay_conformance.pulsar.timeline import Entry, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.unreadable import Unreadable, UnreadableMessages


def _error_of(frame: Frame) -> str | None:
    meta = frame.meta
    is_batch = meta is not None and meta.compression == "NONE" and meta.chunk_id is None and meta.batch
    return "BatchDeSerializeError" if is_batch and not frame.members and frame.intact is True else None


_BATCH = Discarding("undecodable", "as a batch that cannot be decoded", _error_of)


@check("robustness.corrupt-batch-reported")
def corrupt_batch_reported(timeline: Timeline) -> Says:
    """robustness.corrupt-batch-reported: a batch that cannot be decoded is reported; messages decoded before its
    damaged part are received once at most."""
    found = UnreadableMessages(timeline, _error_of)
    yield from judge_acknowledged(timeline, _BATCH, found)
    if found.messages:
        yield from _judge_received_once(timeline, found.messages)


def _judge_received_once(timeline: Timeline, bad: list[Unreadable]) -> Says:
    came: dict[tuple[int, Entry], list[Frame]] = defaultdict(list)
    for one in bad:
        came[one.consumer.handle, one.entry].append(one.frame)
    received: Counter[tuple[int, Entry, int]] = Counter()
    for message in timeline.events.of(Received):
        entry = timeline.entry_of(message)
        copies = [] if entry is None else [one for one in came[message.handle, entry] if one.seq < message.seq]
        if entry is None or not copies:
            continue
        index = message.message_id.batch_index
        received[message.handle, entry, index] += 1
        count = received[message.handle, entry, index]
        if count > len(copies):
            yield breach(
                "delivered-twice",
                f"the batch {entry}, which cannot be decoded, came {len(copies)} times to consumer {message.handle}; "
                f"expected its index {index} no more often; it was received {count} times, last at "
                f"{ms(message.t_ns)}",
                *(copies[0], message),
            )
