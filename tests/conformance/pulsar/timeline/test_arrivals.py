"""Messages in chunks, as they came to a consumer."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.history.script import Script
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.timeline import Entry, Timeline
from assay_conformance.pulsar.timeline.arrivals import Arrivals


@pytest.mark.parametrize(
    ("came", "joined"),
    [
        (((0, 4), (1, 5), (2, 7)), (4, 5, 7)),
        (((0, 4), (1, 5), (1, 5), (2, 7)), (4, 5, 7)),
        (((0, 4), (1, 5), (1, 6), (2, 7)), ()),
        (((0, 4), (1, 5), (1, 6), (0, 4), (1, 5), (2, 7)), (4, 5, 7)),
        (((0, 4), (2, 7)), ()),
        (((0, 4), (1, 7)), ()),
    ],
)
def test_chunks_of_a_message_are_known_where_each_came_as_one_entry(
    came: tuple[tuple[int, int], ...], joined: tuple[int, ...]
) -> None:
    story = Script()
    story.consumer()
    for chunk, entry in came:
        meta = Meta(producer_name="p", sequence_id=0, uuid="u", chunk_id=chunk, chunks=3)
        last = story.message(0, entry=entry, meta=meta)
    then = story.cut()

    def whole(timeline: Timeline) -> tuple[Entry, ...]:
        (session,) = timeline.consumer_sessions.all
        return timeline.once(Arrivals).joined(session, Entry(session.topic, last.ids[0].ledger, 7), then)

    found = asked(story, whole)
    assert tuple(entry.entry for entry in found) == joined
