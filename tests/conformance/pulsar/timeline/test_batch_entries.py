"""What a consumer got of a batch, and which of its messages a client may acknowledge."""

from __future__ import annotations

from tests.conformance.pulsar._consuming import Consuming
from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.timeline import BatchEntry, Timeline


def _batch(timeline: Timeline) -> BatchEntry:
    (consumer,) = timeline.consumers
    (batch,) = timeline.batch_entries(consumer).values()
    return batch


def _acked(story: Consuming) -> set[int]:
    return asked(story, lambda timeline: _batch(timeline).acked(timeline.ended))


def test_messages_count_as_acked_once_the_application_asked_for_it() -> None:
    story = Consuming()
    story.gets_batch(0, 3)
    story.ack(1, 3)
    assert _acked(story) == {0, 2}


def test_refused_call_acknowledges_nothing() -> None:
    story = Consuming()
    story.gets_batch(0, 3)
    story.ack(1, outcome=Outcome.FAIL)
    assert _acked(story) == set()


def test_cumulative_ack_of_a_later_entry_is_about_all_messages() -> None:
    story = Consuming("Exclusive")
    story.gets_batch(0, 3)
    story.gets(1)
    story.ack(4, cumulative=True)
    assert _acked(story) == {0, 1, 2}


def test_batch_that_comes_again_is_one_with_two_deliveries() -> None:
    story = Consuming()
    story.gets_batch(0, 2)
    story.gets_batch(0, 2, ack_set=(0b10,), only=(1,))
    counts = asked(story, lambda timeline: (len(_batch(timeline).came), len(_batch(timeline).received)))
    assert counts == (2, 3)


def test_cumulative_ack_of_a_later_entry_passes_a_batch() -> None:
    story = Consuming("Exclusive")
    story.gets_batch(0, 2)
    story.gets(1)
    story.cumulative_frame(1)

    def question(timeline: Timeline) -> tuple[bool, bool]:
        batch = _batch(timeline)
        return batch.is_passed(batch.came[0], timeline.ended), batch.is_passed(timeline.ended, timeline.ended)

    assert asked(story, question) == (True, False)
