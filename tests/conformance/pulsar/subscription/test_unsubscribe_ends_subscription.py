"""What a call to unsubscribe has to end."""

from __future__ import annotations

import pytest

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.subscription.unsubscribe_ends_subscription import unsubscribe_ends_subscription


class _Leaving(Script):
    """A consumer that is subscribed, and which the application asks to unsubscribe."""

    def __init__(self) -> None:
        super().__init__()
        self.consumer()
        self.op = self.invoke("unsubscribe", CONSUMER, args={"consumer": CONSUMER})

    def asks(self, answer: str = "SUCCESS") -> None:
        self.up("UNSUBSCRIBE", consumer_id=0, request_id=9)
        self.down(answer, request_id=9)

    def judged(self) -> tuple[list[str], int]:
        check = trial(unsubscribe_ends_subscription, self.at(5_000).done())
        return [finding.code for finding in check.findings], check.exercised


def test_success_behind_the_answer_of_the_broker_is_accepted() -> None:
    story = _Leaving()
    story.asks()
    story.complete(story.op)
    assert story.judged() == ([], 1)


def test_an_answer_of_another_kind_ahead_of_the_right_one_answers_nothing() -> None:
    story = _Leaving()
    story.asks("GET_LAST_MESSAGE_ID_RESPONSE")
    story.down("SUCCESS", request_id=9)
    story.complete(story.op)
    assert story.judged() == ([], 1)


def test_success_without_a_request_is_found() -> None:
    story = _Leaving()
    story.complete(story.op)
    assert story.judged()[0] == ["not-unsubscribed"]


def test_success_against_an_error_is_found() -> None:
    story = _Leaving()
    story.asks("ERROR")
    story.complete(story.op)
    assert story.judged()[0] == ["not-unsubscribed"]


@pytest.mark.parametrize(("after_ms", "codes"), [(600, ["failed"]), (1, [])])
def test_failure_although_the_broker_unsubscribed_it_is_found_unless_the_answer_crossed_it(
    after_ms: float, codes: list[str]
) -> None:
    story = _Leaving()
    story.asks()
    story.after(after_ms).complete(story.op, Outcome.FAIL, error=ErrorClass.OTHER)
    assert story.judged()[0] == codes


def test_failure_behind_an_error_is_accepted() -> None:
    story = _Leaving()
    story.asks("ERROR")
    story.complete(story.op, Outcome.FAIL, error=ErrorClass.OTHER)
    assert story.judged() == ([], 1)


def test_consumer_that_subscribes_again_is_found() -> None:
    story = _Leaving()
    story.asks()
    story.complete(story.op)
    story.after(500).up(
        "SUBSCRIBE", consumer_id=0, request_id=10, fields={"topic": story.full("t"), "subscription": "s"}
    )
    assert story.judged()[0] == ["came-back"]


def test_failure_is_accepted_where_one_topic_was_away() -> None:
    story = Script()
    opening = story.invoke("open_consumer", CONSUMER, args={"topics": ["t", "u"], "subscription": "s"})
    story.connected()
    for consumer_id, topic in enumerate(("t", "u")):
        story.subscribed(topic=topic, consumer_id=consumer_id)
    story.complete(opening)
    story.down("CLOSE_CONSUMER", consumer_id=1)
    op = story.invoke("unsubscribe", CONSUMER, args={"consumer": CONSUMER})
    story.up("UNSUBSCRIBE", consumer_id=0, request_id=9)
    story.down("SUCCESS", request_id=9)
    story.complete(op, Outcome.FAIL, error=ErrorClass.TRANSPORT)
    check = trial(unsubscribe_ends_subscription, story.at(5_000).done())
    assert check.findings == []


def test_failure_is_accepted_where_the_answer_may_be_lost_with_its_connection() -> None:
    story = _Leaving()
    story.asks()
    story.complete(story.op, Outcome.UNKNOWN, error=ErrorClass.TRANSPORT)
    story.closed()
    assert story.judged() == ([], 1)
