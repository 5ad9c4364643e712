"""What leaves about a consumer that is closed, both ways."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.pulsar.checks.subscription.nothing_after_close import nothing_after_close

LATER_MS = 300


def closed(answer: str = "SUCCESS") -> Consuming:
    story = Consuming()
    story.gets(0)
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=50)
    story.down(answer, request_id=50, fields={"error": "UnknownError"} if answer == "ERROR" else {})
    return story


def test_consumer_that_is_closed_and_of_which_nothing_more_leaves_is_accepted() -> None:
    story = closed()
    story.after(LATER_MS)
    assert story.judged(nothing_after_close) == ([], 1)


def test_request_for_redelivery_behind_the_close_is_found() -> None:
    story = closed()
    story.after(LATER_MS)
    story.redeliver_frame(0)
    assert story.judged(nothing_after_close)[0] == ["asked-after-close"]


def test_acknowledgment_behind_the_close_is_found() -> None:
    story = closed()
    story.after(LATER_MS)
    story.ack_frame(0)
    assert story.judged(nothing_after_close)[0] == ["asked-after-close"]


def test_acknowledgment_of_another_thread_was_under_way() -> None:
    story = closed()
    story.ack_frame(0)
    story.after(LATER_MS)
    assert story.judged(nothing_after_close) == ([], 1)


def test_permits_of_what_came_before_the_answer_may_be_returned() -> None:
    story = closed()
    story.after(LATER_MS)
    story.flow(500)
    assert story.judged(nothing_after_close) == ([], 1)


def test_consumer_that_its_broker_did_not_close_goes_on() -> None:
    story = closed("ERROR")
    story.after(LATER_MS)
    story.redeliver_frame(0)
    assert story.judged(nothing_after_close)[0] == []


def test_consumer_that_subscribes_again_with_its_id_is_another_one() -> None:
    story = closed()
    story.subscribed(consumer_id=0)
    story.after(LATER_MS)
    story.redeliver_frame(0)
    assert story.judged(nothing_after_close)[0] == []


@pytest.mark.parametrize(("answer", "codes"), [("SUCCESS", ["asked-after-close"]), ("ERROR", [])])
def test_consumer_that_has_unsubscribed_is_gone_and_one_that_may_not_stays(answer: str, codes: list[str]) -> None:
    story = Consuming()
    story.gets(0)
    story.up("UNSUBSCRIBE", consumer_id=0, request_id=50)
    story.down(answer, request_id=50, fields={"error": "UnknownError"} if answer == "ERROR" else {})
    story.after(LATER_MS)
    story.redeliver_frame(0)
    assert story.judged(nothing_after_close)[0] == codes
