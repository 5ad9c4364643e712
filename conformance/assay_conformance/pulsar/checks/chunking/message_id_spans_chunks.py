from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Completion, Frame, Invoke, MessageId, Outcome
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, each, ms


@check("chunking.message-id-spans-chunks")
def message_id_spans_chunks(timeline: Timeline) -> Says:
    """chunking.message-id-spans-chunks: a send returns the id of its last chunk's receipt; a SEEK to a chunked message
    names its first chunk.

    Judged are seeks to a consumer's own deliveries, of messages whose chunks came once each.
    """
    yield from each(timeline.events.completions("send"), _names_last_chunk, timeline)
    yield from each(_seeks(timeline), _names_first_chunk)


def _names_last_chunk(timeline: Timeline, end: Completion) -> Says:
    unit, returned = timeline.unit_of(end), end.message_id
    if unit is None or not unit.is_chunk or returned is None or end.outcome is not Outcome.OK:
        return
    answers = [receipt for receipt in unit.receipts if receipt.seq < end.seq]
    receipts = [receipt for receipt in answers if receipt.ids and not is_duplicate(receipt)]
    if not receipts or (returned.is_duplicate_marker and any(map(is_duplicate, answers))):
        return  # The last answer may have been that it had been stored before.
    # A duplicated receipt is taken for that of the next chunk. Nor can the receipts of a message that timed out be
    # distinguished from those of the next one with its sequence id.
    timeline.check_receipts(end.handle or 0, end)
    yield Exercised(end)
    named = receipts[-1].ids[0].position
    if returned.position not in [receipt.ids[0].position for receipt in receipts]:
        yield breach(
            "other-id",
            f"{unit.line}: the send of message {timeline.number(end)} returned {returned.name} at {ms(end.t_ns)}; "
            f"expected {named[0]}:{named[1]}, the id of its last chunk",
            *(receipts[-1], end),
        )


class _Seek(NamedTuple):
    """A SEEK to a chunked message, whose chunks came in order."""

    frame: Frame
    handle: int
    chunks: list[Frame]


def _seeks(timeline: Timeline) -> Iterator[_Seek]:
    """Yield seeks that the application made one at a time: of two under way, either may leave first."""
    events, called = timeline.events, dict[int | None, Invoke | None]()
    arrived: dict[tuple[int, str], list[Frame]] = {}
    calls = [*events.invokes("seek"), *events.completions("seek")]
    for event in sorted([*calls, *events.frames("SEEK", "MESSAGE")], key=lambda one: one.seq) if calls else ():
        if isinstance(event, Invoke):
            called[event.handle] = None if event.handle in called else event
        elif isinstance(event, Completion):
            called.pop(event.handle, None)
        elif isinstance(event, Frame):
            consumer = timeline.consumer_of(event)
            uuid = event.meta.uuid if event.meta is not None else None
            if consumer is not None and uuid and to_client(event):
                arrived.setdefault((consumer.handle, uuid), []).append(event)
            elif consumer is not None and event.command == "SEEK" and event.ids and from_client(event):
                call = called.pop(consumer.handle, None)
                its = [chunks for (handle, _), chunks in arrived.items() if handle == consumer.handle]
                if call is not None and (chunks := _target(its, call)):
                    yield _Seek(event, consumer.handle, list(chunks))


def _target(messages: list[list[Frame]], seek: Invoke) -> list[Frame]:
    """Return the chunks of the target message in order; none where it is not chunked, or its chunks are not clear."""
    if seek.args.get("message_id") is None:
        return []
    position = MessageId(*seek.args["message_id"]).position
    for chunks in messages:
        ids = [chunk.meta.chunk_id for chunk in chunks if chunk.meta is not None]
        if chunks[-1].ids[0].position == position and ids == list(range(len(ids))):
            return chunks if len(ids) > 1 else []
    return []


def _names_first_chunk(seek: _Seek) -> Says:
    first, named = seek.chunks[0].ids[0].position, seek.frame.ids[0].position
    yield Exercised(seek.frame)
    if named != first:
        yield breach(
            "sought-inside",
            f"the application called seek at consumer {seek.handle} for a message of {len(seek.chunks)} chunks; "
            f"expected SEEK to name the first one, {first[0]}:{first[1]}; at {ms(seek.frame.t_ns)} it names "
            f"{named[0]}:{named[1]}",
            *(seek.chunks[0], seek.frame),
        )
