from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import Completion, ErrorClass, Frame, Meta, Outcome
from assay_conformance.pulsar.checks.chunking._sent_chunks import (
    Message,
    chunk_of,
    message_in,
    properties_bytes,
    splits,
)
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, each, ms
from assay_conformance.pulsar.timeline.incoming import content

VARIABLE_BYTES = 8
"""By so much may two full chunks differ: their numbers take one byte or more."""


@check("chunking.splits-large-message")
def splits_large_message(timeline: Timeline) -> Says:
    """chunking.splits-large-message: chunks 0 to n-1 in order, with the same metadata but for the number, full but for
    the last, together the message.

    After a reconnect the chunks go on with any that an earlier session had begun. The compressed size is known only
    where nothing was compressed, so the total is judged only then.
    """
    yield from each(_sent(timeline), _judge_in_place, timeline)
    chunks = (one for one in reversed(timeline.events.frames("SEND")) if _is_chunk(one) and from_client(one))
    joined = {message: chunk.seq for chunk in chunks if (message := message_in(chunk)) is not None}
    yield from each(timeline.ends("send"), _judge_split, timeline, joined)


@dataclass(slots=True)
class _Split:
    """The chunks of one message on one producer session, in order so far."""

    first: Frame
    meta: Meta
    last: int
    full_bytes: int

    @property
    def whole(self) -> bool:
        return self.last + 1 == self.meta.chunks


class _Sent(NamedTuple):
    """A SEND; of one chunk of a message, the message as it was before, and the number that it is to have."""

    frame: Frame
    meta: Meta
    split: _Split | None = None
    expected: int = 0


def _sent(timeline: Timeline) -> Iterator[_Sent]:
    """Yield what was sent, not after a SEND_ERROR of its session, for what follows may be sent again there."""
    splits, begun, unclear = dict[tuple[int, str], _Split](), set[str](), set[int]()
    for frame in timeline.events.frames("SEND", "SEND_ERROR"):
        session, meta = timeline.session_of(frame), frame.meta
        if session is None or (frame.command == "SEND" and (meta is None or not from_client(frame))):
            continue
        if frame.command == "SEND_ERROR":
            unclear.add(session.request.seq)
        elif meta is not None and not _is_chunk(frame):
            yield _Sent(frame, meta)
        elif meta is not None and session.request.seq in unclear:
            begun.update({meta.uuid} if meta.uuid is not None else ())
        elif meta is not None and (meta.uuid is None or meta.chunk_id is None or not _is_described(meta)):
            yield _Sent(frame, meta)
        elif meta is not None and meta.uuid is not None and meta.chunk_id is not None:
            key, number = (session.request.seq, meta.uuid), meta.chunk_id
            split = splits.get(key)
            # An application that uses a sequence id twice sends another message, for which most clients reuse the uuid.
            expected = number if split is None and meta.uuid in begun else 0
            if split is not None and not split.whole:
                expected = split.last + 1
            else:
                split = splits[key] = _Split(frame, meta, number, frame.size)
            begun.add(meta.uuid)
            yield _Sent(frame, meta, split, expected)
            split.last = number


def _is_chunk(frame: Frame) -> bool:
    return frame.is_chunk or bool(frame.fields.get("is_chunk"))


def _is_described(meta: Meta) -> bool:
    return bool(meta.chunks and meta.chunk_total_bytes)


def _judge_in_place(timeline: Timeline, sent: _Sent) -> Says:
    frame, meta, split, expected = sent
    if not _is_chunk(frame):
        yield from _judge_small(timeline, frame, meta)
        return
    if split is None:
        yield breach(
            "metadata-missing",
            f"{chunk_of(frame)} at {ms(frame.t_ns)} has uuid {meta.uuid!r}, chunk {meta.chunk_id} of {meta.chunks}, "
            f"and a total of {meta.chunk_total_bytes} bytes; expected all four",
            frame,
        )
        return
    number = meta.chunk_id or 0
    wrong = _wrong(split, number, expected, meta, frame)
    if wrong is not None:
        code, sentence = wrong
        yield breach(code, f"{chunk_of(frame)} at {ms(frame.t_ns)} {sentence}", split.first, frame)
    elif number + 1 == meta.chunks:
        yield from _judge_whole(timeline, split, frame)


def _wrong(split: _Split, number: int, expected: int, meta: Meta, frame: Frame) -> tuple[str, str] | None:
    if not frame.fields.get("is_chunk"):
        return "not-marked", "has no is_chunk in its SEND, expected it"
    if number != expected:
        return "out-of-order", f"is chunk {number}, expected chunk {expected}"
    if msgspec.structs.replace(meta, chunk_id=split.meta.chunk_id) != split.meta:
        return "metadata-differs", "has other metadata than the chunk before it, expected only its number to differ"
    if frame.sequence_id != split.first.sequence_id:
        return "sequence-differs", f"has sequence id {frame.sequence_id}, expected {split.first.sequence_id}"
    if meta.chunks == 1:
        return "needless", "is the only chunk, expected an ordinary message"
    short = number + 1 != meta.chunks and frame.size < split.full_bytes - VARIABLE_BYTES
    if short or frame.size > split.full_bytes + VARIABLE_BYTES:
        return "uneven", f"is a frame of {frame.size} bytes, expected {split.full_bytes} like the chunk before it"
    return None


def _judge_whole(timeline: Timeline, split: _Split, frame: Frame) -> Says:
    member, total = frame.members[0] if frame.members else None, split.meta.chunk_total_bytes
    if member is None or split.meta.chunk_id != 0:
        yield Exercised(frame)
        return
    if split.meta.compression == "NONE" and total != member.size:
        yield breach(
            "wrong-total",
            f"{chunk_of(frame)} and the chunks before it announce a total of {total} bytes; expected {member.size}, "
            "which they carry",
            *(split.first, frame),
        )
        return
    identity = member.identity
    send = None if identity is None else timeline.send(identity.handle, identity.number)
    if send is None or send.invoke.payload == member.payload:
        yield Exercised(frame)
        return
    yield breach(
        "joined-differs",
        f"the chunks up to {chunk_of(frame)} at {ms(frame.t_ns)} join to {content(member)}; expected what the "
        f"application sent: {content(send.invoke)}",
        *(send.invoke, split.first, frame),
    )


def _judge_small(timeline: Timeline, frame: Frame, meta: Meta) -> Says:
    """Judge an unbatched, uncompressed message that was sent in one frame although it exceeds the limit."""
    limit = timeline.topology.max_message_bytes
    member = frame.members[0] if frame.members and meta.batch is None and meta.compression == "NONE" else None
    if member is None or member.identity is None or member.size <= limit:
        return
    if splits(timeline, member.identity.handle):
        yield breach(
            "not-split",
            f"producer {member.identity.handle} has chunking enabled and sent {member.size} bytes in one SEND at "
            f"{ms(frame.t_ns)}; expected chunks, since the broker's limit is {limit} bytes",
            frame,
        )


def _judge_split(timeline: Timeline, joined: dict[Message, int], end: Completion) -> Says:
    """Judge whether a message is split where a chunk has room.

    What properties take is judged by chunking.chunks-fit-max-message-size.
    """
    call, limit, handle = timeline.call(end), timeline.topology.max_message_bytes, end.handle or 0
    large = (call.size or 0) > limit > properties_bytes(call) and call.number is not None
    if not large or not splits(timeline, handle) or _never_fits(timeline, handle, call.size or 0):
        return
    if timeline.view.producer_setting(handle, "compression") not in (None, "NONE"):
        return
    message = f"message {call.number} of {call.size} bytes of producer {handle}"
    if end.outcome is Outcome.FAIL and end.error is ErrorClass.TOO_LARGE:
        sentence = f"{message} failed as too large at {ms(end.t_ns)}; expected chunks, since chunking is enabled"
        yield breach("refused", sentence, call, end)
        return
    left = joined.get((handle, call.number or 0))
    if end.outcome is not Outcome.OK or (left is not None and left < end.seq):
        return
    # A chunk that a fault duplicated got more receipts than the client can know of.
    timeline.check_untorn(handle, end)
    yield breach(
        "incomplete",
        f"the send of {message} succeeded at {ms(end.t_ns)}; expected all of its chunks to have left; some had not",
        *(call, end),
    )


def _never_fits(timeline: Timeline, handle: int, size: int) -> bool:
    """Return whether it has more chunks (with one extra for the metadata of each) than may ever be pending."""
    most = timeline.view.producer_setting(handle, "max_pending_messages")
    return isinstance(most, int) and 0 < most < size // timeline.topology.max_message_bytes + 2
