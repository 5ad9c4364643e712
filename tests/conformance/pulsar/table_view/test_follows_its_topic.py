"""Whether a table view follows its topic."""

from __future__ import annotations

from tests.conformance.pulsar.table_view.views import LONG_MS, Views, with_values

from assay_conformance.model.event import Fate
from assay_conformance.pulsar.checks.table_view.follows_its_topic import follows_its_topic


def followed(value: int, after_ms: int = LONG_MS) -> Views:
    """A view that had value 1, is sent value 2, and is read again."""
    story = with_values(1)
    story.reads(k=1)
    story.writes(2)
    story.after(after_ms)
    story.reads(k=value)
    return story


def test_value_that_was_taken_over_is_accepted() -> None:
    assert followed(2).judged(follows_its_topic) == ([], 1)


def test_value_that_was_not_taken_over_is_found() -> None:
    assert followed(1).judged(follows_its_topic) == (["stopped-following"], 0)


def test_value_that_was_just_stored_need_not_be_there() -> None:
    assert followed(1, after_ms=1).judged(follows_its_topic) == ([], 0)


def test_value_that_is_older_than_one_before_is_found() -> None:
    story = with_values(1)
    story.writes(2)
    story.reads(k=2)
    story.reads(k=1)
    assert story.judged(follows_its_topic) == (["went-back"], 0)


def test_value_that_was_stored_around_a_loss_is_not_judged() -> None:
    story = with_values(1)
    story.reads(k=1)
    story.writes(2)
    story.cut()
    story.after(LONG_MS)
    story.reads(k=1)
    assert story.judged(follows_its_topic) == ([], 0)


def test_view_whose_topic_was_refused_for_good_is_not_judged() -> None:
    story = with_values(1)
    story.reads(k=1)
    asked = story.up("LOOKUP", request_id=70, fields={"topic": story.full("t")})
    story.down("LOOKUP_RESPONSE", request_id=asked.request_id, fields={"response": "Failed", "error": "TopicNotFound"})
    story.writes(2)
    story.after(LONG_MS)
    story.reads(k=1)
    assert story.judged(follows_its_topic) == ([], 0)


def test_view_of_which_a_fault_altered_a_message_is_not_judged() -> None:
    story = with_values(1)
    story.subscribed(subscription="v")
    story.message(0, fate=Fate.ALTERED)
    story.writes(2)
    story.after(LONG_MS)
    story.reads(k=1)
    assert story.judged(follows_its_topic) == ([], 0)
