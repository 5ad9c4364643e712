"""The check of `nack.requests-whole-batch`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.nack._histories import DELAY_MS, Story, client

from assay_conformance.history.script import CONSUMER, entry_id
from assay_conformance.model.event import MessageId
from assay_conformance.pulsar.checks.nack.requests_whole_batch import requests_whole_batch


def refused_batch() -> Story:
    story = Story(batch=True)
    story.call("nack", 2)
    story.after(DELAY_MS)
    return story


def test_whole_entry_comes_back() -> None:
    story = refused_batch()
    story.redeliver_frame(0)
    story.dispatch_batch(redelivery_count=1)
    story.members()
    assert story.judged(requests_whole_batch) == ([], 1)


def test_acked_member_need_not_come_back() -> None:
    story = Story(batch=True)
    story.call("ack", 1)
    story.call("nack", 2)
    story.redeliver_frame(0)
    story.dispatch_batch(redelivery_count=1)
    story.members(1, 2)
    assert story.judged(requests_whole_batch) == ([], 1)


def test_member_that_goes_round_by_a_retry_letter_need_not_come_back() -> None:
    story = refused_batch()
    story.call("reconsume_later", 1)
    story.redeliver_frame(0)
    story.dispatch_batch(redelivery_count=1)
    story.members(1, 2)
    assert story.judged(requests_whole_batch) == ([], 1)


def test_request_may_name_a_message_of_the_batch() -> None:
    story = refused_batch()
    ids: tuple[MessageId, ...] = (entry_id(0, 1, 3),)
    story.up("REDELIVER_UNACKNOWLEDGED_MESSAGES", consumer_id=0, ids=ids)
    story.dispatch_batch(redelivery_count=1)
    story.members(0, 1, 2)
    assert story.judged(requests_whole_batch) == ([], 1)


def comes_in_part(redelivery_count: int) -> Story:
    story = refused_batch()
    story.redeliver_frame(0)
    story.dispatch_batch(redelivery_count=redelivery_count)
    story.members(1)
    story.after(600)
    story.receive(asked=3, got=1)
    return story


def test_part_of_an_entry_is_found() -> None:
    assert comes_in_part(1).judged(requests_whole_batch)[0] == ["part-of-entry"]


def sought_and_refused(*came: int) -> Story:
    """A seek, after which these come, of which the last is refused; and those again."""
    story = Story(batch=True)
    sought = story.invoke("seek", CONSUMER)
    story.complete(sought)
    story.dispatch_batch()
    story.members(*came)
    story.call("nack", story.count + len(came))
    story.after(DELAY_MS)
    story.redeliver_frame(0)
    story.dispatch_batch(redelivery_count=1)
    story.members(*came[1:])
    story.after(600)
    story.receive(asked=3, got=len(came) - 1)
    return story


def test_what_a_seek_into_the_entry_left_behind_need_not_come() -> None:
    assert sought_and_refused(1, 2).judged(requests_whole_batch) == ([], 0)


def test_part_of_an_entry_behind_a_seek_is_found() -> None:
    assert sought_and_refused(0, 1, 2).judged(requests_whole_batch)[0] == ["part-of-entry"]


def test_entry_that_is_to_be_a_dead_letter_need_not_come_back() -> None:
    assert comes_in_part(2).judged(requests_whole_batch, client(max_redeliver_count=1)) == ([], 0)


def test_entry_that_did_not_come_again_shows_nothing() -> None:
    story = refused_batch()
    story.redeliver_frame(0)
    story.after(600)
    story.receive(asked=3, got=0)
    assert story.judged(requests_whole_batch) == ([], 0)
