"""What a broker has to send, and whom it may send it to."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming
from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.history.script import Script
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.timeline.dispatching import orphan, supply_left


def test_permits_are_left_since_the_flow_that_found_none() -> None:
    story = Consuming(queue=1)
    story.message(0)
    since = story.at(500).flow(2)
    story.after(100).flow(3)
    supply = asked(story, lambda timeline: supply_left(timeline, timeline.subscriptions[0].members[0]))
    assert supply == (5, since.t_ns)


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
    assert asked(story, lambda timeline: orphan(timeline, timeline.subscriptions[0])) == expected
