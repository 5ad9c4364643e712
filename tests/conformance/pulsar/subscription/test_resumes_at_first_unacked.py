"""The check of `subscription.resumes-at-first-unacked`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._shared_subscription import FIRST, said

from assay_conformance.checks.trial import ANY_CASE
from assay_conformance.history.script import Script
from assay_conformance.model.case import Step, Who
from assay_conformance.model.event import MessageId
from assay_conformance.pulsar.checks.subscription.resumes_at_first_unacked import resumes_at_first_unacked


def _resumed(*gets: int, durable: bool = True) -> Script:
    """0 to 3 are sent, 0 and 1 acked, and another consumer comes."""
    story = Script()
    story.connected(0)
    story.subscribed(0, durable=durable)
    for number in range(4):
        story.message(number)
    story.ack_frame(0, 1)
    story.cut(0)
    story.connected(1)
    story.subscribed(1, durable=durable)
    for number in gets:
        story.message(number, conn=1)
    return story


def test_going_on_at_the_first_unacked_is_accepted() -> None:
    assert said(resumes_at_first_unacked, _resumed(2, 3, 4)) == ([], 1)


def test_passing_over_the_unacked_is_found() -> None:
    assert "passed-over" in said(resumes_at_first_unacked, _resumed(4))[0]


def test_starting_over_is_found() -> None:
    assert said(resumes_at_first_unacked, _resumed(0, 1, 2))[0] == ["acked-again"]


@pytest.mark.parametrize(("pause_ms", "codes"), [(20, []), (300, ["acked-again"])])
def test_acknowledgement_that_crosses_an_unload_may_be_lost_in_it(pause_ms: int, codes: list[str]) -> None:
    story = Script()
    story.consumer()
    for number in range(2):
        story.message(number)
    story.ack_frame(0)
    story.after(pause_ms).down("CLOSE_CONSUMER", consumer_id=0)
    story.subscribed()
    story.message(0)
    assert said(resumes_at_first_unacked, story)[0] == codes


@pytest.mark.parametrize(("pause_ms", "codes"), [(0, []), (250, ["acked-again"])])
def test_ack_of_before_may_come_while_the_first_permits_are_served(pause_ms: int, codes: list[str]) -> None:
    """Permits and acknowledgement come in one read, which is written down before the broker answers any of it."""
    story = Script()
    story.connected(0)
    story.subscribed(0)
    story.message(0)
    story.message(1)
    story.cut(0)
    story.connected(1)
    story.subscribed(1)
    story.flow(10, conn=1)
    story.ack_frame(0, conn=1)
    story.after(pause_ms).message(0, conn=1)
    assert said(resumes_at_first_unacked, story) == (codes, 1)


def test_ack_ahead_of_the_answer_to_subscribe_may_settle_what_it_names() -> None:
    story = Script()
    story.connected(0)
    story.subscribed(0)
    story.message(0)
    story.message(1)
    story.down("CLOSE_CONSUMER", 0, consumer_id=0)
    fields = {"topic": story.full("t"), "subscription": "s", "subType": "Exclusive"}
    asked = story.up("SUBSCRIBE", 0, consumer_id=0, request_id=77, fields=fields)
    story.ack_frame(0)
    story.down("SUCCESS", 0, request_id=asked.request_id)
    story.message(1)
    assert said(resumes_at_first_unacked, story)[0] == []


def test_ack_that_crosses_the_close_of_its_consumer_settles_nothing() -> None:
    story = Script()
    story.connected(0)
    story.subscribed(0)
    story.message(0)
    story.down("CLOSE_CONSUMER", 0, consumer_id=0)
    story.ack_frame(0)
    story.subscribed(0)
    story.message(0)
    assert said(resumes_at_first_unacked, story)[0] == []


def test_broker_that_died_may_have_lost_acks() -> None:
    case = msgspec.structs.replace(ANY_CASE, steps=(Step(Who.BROKER, "restart"),))
    assert said(resumes_at_first_unacked, _resumed(0, 1, 2), case) == ([], 1)


def test_reader_starts_where_it_likes() -> None:
    assert said(resumes_at_first_unacked, _resumed(0, durable=False)) == ([], 0)


def test_acknowledgement_that_crosses_the_end_of_its_consumer_settles_nothing() -> None:
    story = Script()
    story.consumer(FIRST)
    story.message(0)
    story.down("CLOSE_CONSUMER", 0, consumer_id=0)
    story.ack_frame(0)
    story.subscribed(0)
    story.message(0)
    assert said(resumes_at_first_unacked, story) == ([], 1)


def test_subscription_that_was_moved_starts_elsewhere() -> None:
    story = Script()
    story.consumer(FIRST)
    for number in range(4):
        story.message(number)
    story.up("SEEK", 0, consumer_id=0, request_id=9, fields={"message_id": [MessageId(1, 3)]})
    story.down("CLOSE_CONSUMER", 0, consumer_id=0)
    story.subscribed(0)
    story.message(3)
    assert said(resumes_at_first_unacked, story) == ([], 0)


def test_consumer_that_subscribes_once_more_on_its_connection_goes_on_where_it_was() -> None:
    story = Script()
    story.consumer()
    for number in range(2):
        story.message(number)
    story.subscribed(consumer_id=0)
    story.message(2)
    assert said(resumes_at_first_unacked, story) == ([], 0)
