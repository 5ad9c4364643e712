"""The check of `dead-letter.max-redeliver-count`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._letters import DELAY_MS, STORED, Letters, sent_round, sent_round_again
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.dead_letter._letters import refused_twice

from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.dead_letter.max_redeliver_count import max_redeliver_count


def test_message_buried_at_its_maximum_is_accepted() -> None:
    story = refused_twice()
    story.posts()
    check = story.judged(max_redeliver_count)
    assert (check.findings, check.exercised) == ([], 1)


def test_message_buried_before_its_maximum_is_found() -> None:
    story = Letters()
    story.comes(0)
    story.refuse()
    story.opens()
    story.posts()
    assert codes_of(story.judged(max_redeliver_count)) == ["too-soon"]


def test_message_that_never_went_round_and_was_redelivered_as_often_may_be_buried() -> None:
    story = Letters()
    story.comes(0)
    story.complete(story.invoke("reconsume_later", CONSUMER, args={"messages": [1]}))
    story.redeliver_frame(0)
    story.comes(1)
    story.refuse(2)
    story.opens()
    story.posts()
    assert codes_of(story.judged(max_redeliver_count)) == []


def test_message_handed_over_beyond_its_maximum_is_found() -> None:
    story = Letters()
    story.comes(2)
    assert codes_of(story.judged(max_redeliver_count)) == ["beyond-maximum"]


def test_message_sent_round_beyond_its_maximum_is_found() -> None:
    story = sent_round()
    story.posts(letter={"RECONSUMETIMES": "2", "DELAY_TIME": str(DELAY_MS)})
    assert codes_of(story.judged(max_redeliver_count)) == ["beyond-maximum"]


def test_messages_of_a_batch_are_counted_each_by_its_own_rounds() -> None:
    story, _ = sent_round_again(batch=2)
    story.message(0, handle=STORED)
    story.received(0, handle=STORED)
    story.invoke("reconsume_later", CONSUMER, args={"messages": [3], "delay_ms": DELAY_MS})
    story.producer_ready(producer_id=5, topic=f"{story.full('t')}-s-DLQ", name="dead")
    story.posts(number=2)
    assert codes_of(story.judged(max_redeliver_count)) == []
