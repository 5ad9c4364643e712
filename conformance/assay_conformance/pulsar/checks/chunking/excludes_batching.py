from __future__ import annotations

from assay_conformance.model.event import Completion, ErrorClass, Frame, Invoke, Outcome
from assay_conformance.pulsar.checks.chunking._sent_chunks import chunk_of
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, each, ms


@check("chunking.excludes-batching")
def excludes_batching(timeline: Timeline) -> Says:
    """chunking.excludes-batching: opening a producer with batching and chunking fails, or it sends chunks; it never
    splits a batch."""
    setting, openings = timeline.view.producer_setting, dict[int, Invoke]()
    for end in timeline.events.completions("open_producer"):
        handle = end.handle or 0
        if not all(setting(handle, key) is True for key in ("batching", "chunking")):
            continue
        if end.outcome is Outcome.FAIL:
            yield Exercised(end)
        elif end.outcome is Outcome.OK:
            openings[handle] = timeline.openings[handle]
    yield from each(timeline.sent, _judge_no_part_of_a_batch, openings)
    failed = (end for end in timeline.failed_sends if end.error is ErrorClass.TOO_LARGE)
    yield from each((end for end in failed if end.handle in openings), _judge_split, openings)


def _judge_no_part_of_a_batch(openings: dict[int, Invoke], sent: tuple[Unit, Frame]) -> Says:
    (unit, frame), meta = sent, sent[1].meta
    if meta is None or meta.chunk_id is None:
        return
    if meta.batch is not None:
        sentence = f"{chunk_of(frame)} at {ms(frame.t_ns)} is a chunk of a batch; expected batches not to be split"
        yield breach("batch-in-chunks", sentence, frame)
    elif unit.line.handle in openings:
        yield Exercised(frame)


def _judge_split(openings: dict[int, Invoke], end: Completion) -> Says:
    opening = openings[end.handle or 0]
    yield breach(
        "chunking-dropped",
        f"producer {end.handle} was opened at {ms(opening.t_ns)} with batching and chunking enabled; expected an error "
        f"then, or chunks; a message failed as too large at {ms(end.t_ns)}",
        *(opening, end),
    )
