"""The check of `seek.completes-after-resubscribe`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.seek._histories import asks, reading, sought

from assay_conformance.checks.trial import ANY_CLIENT, trial
from assay_conformance.pulsar.checks.seek.completes_after_resubscribe import completes_after_resubscribe


def test_seek_ends_when_subscribed_again() -> None:
    story = reading()
    sought(story, 1)
    assert judged(completes_after_resubscribe, story) == ([], 1)


def test_seek_that_ends_while_the_consumer_is_away_is_found() -> None:
    story = reading()
    invoke, _ = asks(story, 1)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.down("SUCCESS", request_id=99)
    story.complete(invoke)
    story.subscribed()
    assert judged(completes_after_resubscribe, story)[0] == ["ended-while-away"]


def test_seek_that_does_not_end_is_found() -> None:
    story = reading()
    asks(story, 1)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.down("SUCCESS", request_id=99)
    story.subscribed()
    story.after(600)
    assert judged(completes_after_resubscribe, story)[0] == ["not-ended"]


def test_seek_of_a_consumer_with_a_retry_letter_topic_waits_for_that_too() -> None:
    story = reading()
    asks(story, 1)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.down("SUCCESS", request_id=99)
    story.subscribed()
    story.after(600)
    facts = msgspec.structs.replace(ANY_CLIENT, fixed={"retry_letters": True})
    assert trial(completes_after_resubscribe, story.done(), facts=facts).findings == []


def test_answer_ahead_of_the_close_may_end_a_seek() -> None:
    story = reading()
    invoke, _ = asks(story, 1)
    story.down("SUCCESS", request_id=99)
    story.complete(invoke)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    assert judged(completes_after_resubscribe, story) == ([], 0)
