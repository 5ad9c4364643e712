from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from assay_conformance.judging.worlds import Kind
from assay_conformance.pulsar.checks._holdings import judge_possible
from assay_conformance.pulsar.checks.dedup._deduplication import deduplicated, may_repeat_ids
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, check
from assay_conformance.pulsar.timeline.holdings import Holding, ordered_holdings

CODES: Final = {
    Kind.LOST: "lost",
    Kind.TWICE: "stored-twice",
    Kind.DISORDER: "reordered",
    Kind.PHANTOM: "stored-though-failed",
}


def _by_their_own_ids(timeline: Timeline) -> Iterator[Holding]:
    """Yield holdings whose messages have ids of the producers' own.

    Not with a configured initial sequence id, which may repeat ids on purpose; with raw entries in the topic, which may
    use the ids; and while two producers have the same name, and both assign its ids.
    """
    view, topics = timeline.view, deduplicated(timeline.view)
    if not topics or any(step.verb == "store_entries" for step in view.case.steps):
        return
    for holding in ordered_holdings(timeline):
        is_named = view.producer_setting(holding.handle, "producer_name") is not None
        numbers_itself = is_named and not may_repeat_ids(view, holding.handle)
        if holding.topic.name in topics and numbers_itself and not _shares_its_name(timeline, holding):
            yield holding


def _shares_its_name(timeline: Timeline, holding: Holding) -> bool:
    """Return whether another producer of that name was open at the same time."""
    name_of, mine = timeline.view.producer_setting, timeline.openings[holding.handle]
    return any(
        handle != holding.handle
        and timeline.topic_of(handle) == holding.topic
        and name_of(handle, "producer_name") == name_of(holding.handle, "producer_name")
        and opening.is_beside(mine, timeline.closings)
        for handle, opening in timeline.openings.items()
    )


@check("dedup.effectively-once", of=_by_their_own_ids)
def effectively_once(timeline: Timeline, holding: Holding) -> Says:
    """dedup.effectively-once: with deduplication, a fixed producer name and ids that the client assigns, each message
    is stored once, in order. What exercises it is that something leaves again."""
    for producer in timeline.producers_of(holding.handle):
        for unit in producer.units:
            yield from (Exercised(frame) for _, frame in unit.sends[1:])
    yield from judge_possible(timeline, holding, CODES, once=True)
