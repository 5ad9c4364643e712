"""What a broker has to send, and may send to no consumer."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.history.script import Script
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.timeline.dispatching import undispatchable_chunk


@pytest.mark.parametrize(("acked", "expected"), [((), None), ((0,), (1, 1)), ((0, 1), None)])
def test_chunk_behind_an_acknowledged_first_one_goes_to_no_consumer(
    acked: tuple[int, ...], expected: tuple[int, int] | None
) -> None:
    story = Script()
    story.consumer(kind="Shared")
    for chunk in (0, 1):
        meta = Meta(producer_name="p", sequence_id=0, uuid="u", chunk_id=chunk, chunks=2)
        story.stored(chunk, meta=meta)
        story.message(chunk)
    for entry in acked:
        story.ack_frame(entry)
    assert asked(story, lambda timeline: undispatchable_chunk(timeline, timeline.subscriptions[0])) == expected
