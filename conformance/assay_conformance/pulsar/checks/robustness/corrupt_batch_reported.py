from __future__ import annotations

from collections import Counter, defaultdict

from assay_conformance.model.event import Frame, Received
from assay_conformance.pulsar.checks.robustness._unreadable import Clause, judge_discarded, unreadable
from assay_conformance.pulsar.timeline import Entry, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.unreadable import Unreadable

BAD_BATCH = "BatchDeSerializeError"


def _is_bad(frame: Frame) -> bool:
    meta = frame.meta
    is_plain = meta is not None and meta.compression == "NONE" and meta.chunk_id is None
    return is_plain and meta is not None and bool(meta.batch) and not frame.members and frame.intact is True


_BATCH = Clause(
    what="a batch that cannot be decoded",
    expected=f"an ACK with {BAD_BATCH}",
    is_bad=_is_bad,
    wants=lambda ack: ack.fields.get("validation_error") == BAD_BATCH,
)


@check("robustness.corrupt-batch-reported")
def corrupt_batch_reported(timeline: Timeline) -> Says:
    """robustness.corrupt-batch-reported: a batch that cannot be decoded is reported; messages decoded before its
    damaged part are received once at most."""
    bad = unreadable(timeline, _BATCH)
    yield from judge_discarded(timeline, _BATCH, bad)
    if bad.messages:
        yield from _judge_received_once(timeline, bad.messages)


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
