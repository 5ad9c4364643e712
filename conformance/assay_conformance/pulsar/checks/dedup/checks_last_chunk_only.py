from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.dedup._deduplication import (
    NO_SEQUENCE_ID,
    Name,
    deduplicated,
    name_of,
    named_session,
)
from assay_conformance.pulsar.checks.dedup._names import checked_later, effective_highest_id
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


@dataclass(slots=True)
class _Waiting:
    """Unanswered chunks of one sequence id. `early`: chunks before the last, which must be stored; `repeated`: how many
    of them arrived when the id was stored already. `last_new`, `last_again`: last chunks, by whether their id or a
    later one had arrived before.
    """

    first: Frame
    early: int = 0
    repeated: int = 0
    last_new: Frame | None = None
    last_again: int = 0


@check("dedup.checks-last-chunk-only")
def checks_last_chunk_only(timeline: Timeline) -> Says:
    """dedup.checks-last-chunk-only: chunks of a message carry the same sequence id; only the last one is checked and
    remembered.

    Judged by the answers, of which that to a duplicate may overtake others: one message gets no more receipts without
    an id than duplicates of its last chunk arrived."""
    topics, arrived = deduplicated(timeline.view), dict[Name, int]()
    """`arrived`: highest id that has arrived under a name; chunks before the last do not count."""
    waiting: dict[tuple[int, int | None], dict[int, _Waiting]] = {}
    for frame in timeline.events.frames("PRODUCER", "SEND", "SEND_RECEIPT", "SEND_ERROR") if topics else ():
        place, id = (frame.conn, frame.producer_id), frame.sequence_id or 0
        if frame.command == "PRODUCER" and frame.to_receiver:
            # SENDs that reached the broker before the producer registered again are not answered any more.
            waiting.pop(place, None)
        elif frame.command == "SEND" and frame.to_receiver and frame.intact is not False:
            session = named_session(timeline, frame, topics)
            if session is None:
                continue
            before = arrived.get(name_of(session), NO_SEQUENCE_ID)
            if frame.is_chunk:
                _arrived(waiting.setdefault(place, {}).setdefault(id, _Waiting(frame)), frame, before)
            if not checked_later(frame.meta):
                arrived[name_of(session)] = max(before, id, effective_highest_id(frame))
        elif frame.command in ("SEND_RECEIPT", "SEND_ERROR") and frame.from_sender:
            chunks = waiting.get(place, {}).get(id)
            if chunks is not None:
                yield from _answered(chunks, frame)


def _arrived(chunks: _Waiting, chunk: Frame, before: int) -> None:
    id = chunk.sequence_id or 0
    if checked_later(chunk.meta):
        chunks.early += 1
        chunks.repeated += id <= before
    elif id > before:
        chunks.last_new = chunk
    else:
        chunks.last_again += 1


def _answered(chunks: _Waiting, answer: Frame) -> Says:
    if answer.command == "SEND_RECEIPT" and is_duplicate(answer):
        if chunks.last_again:
            chunks.last_again -= 1
        elif chunks.early or chunks.last_new is not None:
            yield breach(
                "chunk-dropped",
                f"a chunk with sequence id {answer.sequence_id} (first chunk at {ms(chunks.first.t_ns)}) was a chunk "
                "before the last, or the last of a message that had not arrived before; expected it to be stored; it "
                f"got the receipt of a duplicate at {ms(answer.t_ns)}",
                *(chunks.first, answer),
            )
        return
    # It was stored, or refused for another reason.
    stored = answer.command == "SEND_RECEIPT"
    if chunks.early:
        chunks.early -= 1
        if stored and chunks.repeated:
            chunks.repeated -= 1
            yield Exercised(answer)
    elif chunks.last_new is not None:
        chunks.last_new = None
        if stored:
            yield Exercised(answer)
