from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.pulsar.checks.dedup._deduplication import (
    NO_SEQUENCE_ID,
    Name,
    deduplicated,
    name_of,
    named_session,
)
from assay_conformance.pulsar.timeline import Exercised, Publish, Says, Timeline, breach, check, ms


def _chunks(timeline: Timeline) -> Iterator[tuple[Publish, bool]]:
    """Yield chunks at their broker, each with whether its id or a later one had arrived before, chunks before the last
    apart."""
    topics, arrived = deduplicated(timeline.view), dict[Name, int]()
    for publish in timeline.publishes.all if topics else ():
        session = named_session(timeline, publish.send, topics) if publish.is_intact else None
        if session is not None:
            before = arrived.get(name_of(session), NO_SEQUENCE_ID)
            if publish.send.is_chunk:
                yield publish, publish.id <= before
            if not publish.is_early_chunk:
                arrived[name_of(session)] = max(before, publish.highest_id)


@check("dedup.checks-last-chunk-only", of=_chunks)
def checks_last_chunk_only(timeline: Timeline, chunk: tuple[Publish, bool]) -> Says:
    """dedup.checks-last-chunk-only: chunks of a message carry the same sequence id; only the last one is checked and
    remembered: those before it, and the last of a message that had not arrived before, are stored."""
    (publish, is_again), answer = chunk, chunk[0].likely_answer
    if answer is None or answer.command != "SEND_RECEIPT":
        return
    if not is_duplicate(answer):
        if publish.is_early_chunk == is_again:
            yield Exercised(answer)
    elif publish.is_early_chunk or not is_again:
        yield breach(
            "chunk-dropped",
            f"the chunk with sequence id {publish.id} at {ms(publish.send.t_ns)} was before the last, or the last of a "
            "message that had not arrived before; expected it to be stored; it got the receipt of a duplicate at "
            f"{ms(answer.t_ns)}",
            *(publish.send, answer),
        )
