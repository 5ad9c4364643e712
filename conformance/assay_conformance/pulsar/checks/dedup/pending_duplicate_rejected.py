from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Stored
from assay_conformance.pulsar.checks.dedup._deduplication import Name, deduplicated
from assay_conformance.pulsar.checks.dedup._names import steps
from assay_conformance.pulsar.timeline import Exercised, Publish, Says, Timeline, breach, check, ms


class _Copy(NamedTuple):
    """A duplicate, and the SEND before it that was not stored yet. `decided`: all ids up to this one were stored when
    it was answered; `late`: entries of its name that the broker reported late."""

    first: Publish
    publish: Publish
    decided: int
    late: list[Stored]


def _copies(timeline: Timeline) -> Iterator[_Copy]:
    """Yield copies of messages that were sent alone, as they are answered.

    What a broker that ended had not stored is forgotten: a SEND with its id is no duplicate any more.
    """
    firsts, late, loads = dict[Publish, Publish](), dict[Name, list[Stored]](), dict[Name, int]()
    for event, name, numbers, publish in steps(timeline, deduplicated(timeline.view)):
        loaded = timeline.loads(name[0], event)
        if loads.setdefault(name, loaded) != loaded:
            loads[name] = loaded
            numbers.pending.clear()
        if isinstance(event, Stored):
            late.setdefault(name, []).extend([event] if event.late else [])
            numbers.written(event.meta.highest_id)
        elif publish is not None and event is not publish.send:
            if publish in firsts:
                yield _Copy(firsts[publish], publish, numbers.stored, late.setdefault(name, []))
            elif publish in numbers.pending:
                numbers.answered(publish, event)
                if event.command == "SEND_RECEIPT":
                    # The broker holds it to be stored, whatever became of it.
                    numbers.written(publish.id)
        elif publish is not None and publish.is_intact and _is_alone(publish):
            first = numbers.first_pending(publish.id)
            if first is None:
                numbers.arrives(publish)
            else:
                firsts[publish] = first


def _is_alone(publish: Publish) -> bool:
    meta = publish.send.meta
    return meta is not None and meta.batch is None and meta.chunk_id is None


@check("dedup.pending-duplicate-rejected", of=lambda timeline: list(_copies(timeline)))
def pending_duplicate_rejected(timeline: Timeline, copy: _Copy) -> Says:
    """dedup.pending-duplicate-rejected: a duplicate of a SEND that has arrived and is not stored yet is answered by
    SEND_ERROR PersistenceError.

    Judged are messages sent alone. Any answer after the first SEND is stored is accepted; where the broker reported an
    entry late, it is unknown since when that was so, and since when all ids up to its highest were stored.
    """
    first, publish, decided, late = copy
    answer, id = publish.likely_answer, publish.id
    if answer is None:
        return
    if answer.command == "SEND_ERROR":
        if answer.fields.get("error") == "PersistenceError":
            yield Exercised(answer)
    elif id > decided and not any(one.seq > answer.seq and id <= one.meta.highest_id for one in late):
        yield breach(
            "receipted-undecided",
            f"sequence id {id} arrived at {ms(first.send.t_ns)} and again at {ms(publish.send.t_ns)}; expected "
            "SEND_ERROR PersistenceError for the second SEND while the first was not stored; it got a receipt at "
            f"{ms(answer.t_ns)}",
            *(first.send, publish.send, answer),
        )
