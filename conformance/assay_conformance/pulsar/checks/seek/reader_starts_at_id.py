from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import in_force, is_torn
from assay_conformance.model.event import MessageId, Received
from assay_conformance.pulsar.checks.seek._seeking import id_asked
from assay_conformance.pulsar.checks.seek._targets import Message, first_after, readable
from assay_conformance.pulsar.timeline import Consumer, Entry, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.readers import ids_may_start_over


class _Begun(NamedTuple):
    """A reader that was opened at a message, the first one that it received, and the one expected."""

    reader: Consumer
    id: MessageId
    first: Received
    expected: Message


def _begun(timeline: Timeline) -> Iterator[_Begun]:
    """Yield readers of one topic that received something before any seek.

    Left out are those to which a MESSAGE was lost, or sent twice, on the way.
    """
    for reader in timeline.consumers if not ids_may_start_over(timeline.view.case) else ():
        id, first = id_asked(reader.invoke), next(iter(timeline.received(reader)), None)
        if id is None or first is None or in_force(timeline.view, reader, "read_compacted"):
            continue
        sought = any(one.seq < first.seq for one in timeline.events.invokes_of(reader.handle, "seek"))
        messages = (one for _, one in timeline.frames_of(reader, "MESSAGE") if one.seq < first.seq)
        if sought or any(is_torn(one) for one in messages):
            continue
        stored = readable(timeline, reader.topics[0], first)
        inclusive = bool(in_force(timeline.view, reader, "start_inclusive"))
        expected = None if stored is None else first_after(stored, id, inclusive=inclusive)
        if expected is not None:
            yield _Begun(reader, id, first, expected)


@check("seek.reader-starts-at-id", of=_begun)
def reader_starts_at_id(timeline: Timeline, begun: _Begun) -> Says:
    """seek.reader-starts-at-id: the first message that a reader receives is the one after the message that it was
    opened at, or that message itself with `start_inclusive`, also inside a batch, and after it has reconnected."""
    reader, id, first, expected = begun
    entry = timeline.entry_of(first) or Entry(reader.topics[0], *first.message_id.position)
    got = Message(entry, max(first.message_id.batch_index, 0))
    if got == expected:
        yield Exercised(first)
        return
    index = f" (index {id.batch_index})" if id.batch_index >= 0 else ""
    yield breach(
        "wrong-start",
        f"reader {reader.handle} was opened at {id.name}{index}; expected {expected} as its first message; it received "
        f"{got} at {ms(first.t_ns)}",
        *(reader.invoke, first),
    )
