from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.dedup._deduplication import Name, deduplicated, name_of, named_session
from assay_conformance.pulsar.checks.dedup._names import Place, place_of
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


def _gaps(timeline: Timeline) -> Iterator[tuple[Frame, Frame]]:
    """Yield SENDs with an id more than one above all before, each with its receipt."""
    topics = deduplicated(timeline.view)
    last, gaps = dict[Name, int](), dict[Place, Frame]()
    for frame in timeline.events.frames("SEND", "SEND_RECEIPT") if topics else ():
        place, id = place_of(frame), frame.sequence_id
        if id is None or not frame.at_broker:
            continue
        if frame.command == "SEND_RECEIPT":
            sent = gaps.pop(place, None)
            if sent is not None and frame.ids:
                yield sent, frame
            continue
        session = named_session(timeline, frame, topics)
        if session is None or frame.meta is None:
            continue
        before = last.get(name_of(session))
        gaps.pop(place, None)  # Sent again: the first SEND may be stored without an answer.
        if before is not None and id > before + 1 and frame.meta.chunk_id is None:
            gaps[place] = frame
        last[name_of(session)] = max(id, frame.highest_sequence_id or 0, before or 0)


@check("dedup.sequence-gaps-accepted", of=_gaps)
def sequence_gaps_accepted(timeline: Timeline, gap: tuple[Frame, Frame]) -> Says:
    """dedup.sequence-gaps-accepted: a SEND with an id more than one above all before of its producer name gets a
    receipt with an id.

    Chunks are not judged; their ids count for the SENDs after them."""
    sent, receipt = gap
    if not receipt.ids[0].is_duplicate_marker:
        yield Exercised(receipt)
        return
    yield breach(
        "taken-for-a-copy",
        f"a SEND with sequence id {sent.sequence_id} arrived at {ms(sent.t_ns)}, above all ids of its producer name; "
        f"expected it to be stored; it was answered as a duplicate at {ms(receipt.t_ns)}",
        *(sent, receipt),
    )
