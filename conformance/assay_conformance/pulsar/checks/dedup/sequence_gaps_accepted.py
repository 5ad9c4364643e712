from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.pulsar.checks.dedup._deduplication import Name, deduplicated, name_of, named_session
from assay_conformance.pulsar.timeline import Exercised, Publish, Says, Timeline, breach, check, ms


def _gaps(timeline: Timeline) -> Iterator[Publish]:
    """Yield SENDs with an id more than one above all before."""
    topics, last = deduplicated(timeline.view), dict[Name, int]()
    for publish in timeline.publishes.all if topics else ():
        session = named_session(timeline, publish.send, topics)
        if session is not None and publish.send.meta is not None and publish.send.sequence_id is not None:
            before = last.get(name_of(session), publish.id)
            if publish.id > before + 1 and not publish.send.is_chunk:
                yield publish
            last[name_of(session)] = max(before, publish.highest_id)


@check("dedup.sequence-gaps-accepted", of=_gaps)
def sequence_gaps_accepted(timeline: Timeline, gap: Publish) -> Says:
    """dedup.sequence-gaps-accepted: a SEND with an id more than one above all before of its producer name gets a
    receipt with an id.

    Chunks are not judged; their ids count for the SENDs after them."""
    receipt = gap.answer
    if receipt is None or receipt.command != "SEND_RECEIPT" or not receipt.ids:
        return
    if not is_duplicate(receipt):
        yield Exercised(receipt)
        return
    yield breach(
        "taken-for-a-copy",
        f"a SEND with sequence id {gap.id} arrived at {ms(gap.send.t_ns)}, above all ids of its producer name; "
        f"expected it to be stored; it was answered as a duplicate at {ms(receipt.t_ns)}",
        *(gap.send, receipt),
    )
