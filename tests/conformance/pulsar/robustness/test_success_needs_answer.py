"""What a call has to have been answered before it reports success."""

from __future__ import annotations

import pytest

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, NAME, PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.robustness.success_needs_answer import success_needs_answer

ERROR = {"error": "MetadataError"}


class _Story(Script):
    """A consumer that is subscribed, and one call of it."""

    def __init__(self, verb: str = "seek") -> None:
        super().__init__()
        self.consumer()
        self.call = self.at(500).invoke(verb, CONSUMER, args={"handle": CONSUMER})

    def asks(self, command: str, answer: str = "", **fields: str) -> None:
        self.up(command, consumer_id=0, request_id=9)
        if answer:
            self.down(answer, request_id=9, fields=fields)

    def judged(self) -> tuple[list[str], int]:
        check = trial(success_needs_answer, self.done())
        return [finding.code for finding in check.findings], check.exercised


def test_seek_that_was_answered_well_may_succeed() -> None:
    story = _Story()
    story.asks("SEEK", "SUCCESS")
    story.complete(story.call)
    assert story.judged()[0] == []


def test_seek_that_succeeds_against_an_error_is_found() -> None:
    story = _Story()
    story.asks("SEEK", "ERROR", **ERROR)
    story.complete(story.call)
    assert story.judged()[0] == ["against-error"]


def test_seek_that_succeeds_without_an_answer_is_found() -> None:
    story = _Story()
    story.asks("SEEK")
    story.complete(story.call)
    assert story.judged()[0] == ["without-answer"]


def test_seek_that_asks_for_nothing_is_found() -> None:
    story = _Story()
    story.complete(story.call)
    assert story.judged()[0] == ["never-asked"]


@pytest.mark.parametrize(("again", "codes"), [(True, []), (False, ["against-error"])])
def test_producer_may_open_behind_the_close_of_its_client(again: bool, codes: list[str]) -> None:
    """pulsar-rs 6.9.1 goes on with an opening that was under way as its client was closed."""
    story = Script()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t", "client": 7})
    story.connected()
    request = story.producer_asks()
    story.down("ERROR", request_id=request.request_id, fields={"error": "ProducerBlockedQuotaExceededException"})
    story.complete(story.invoke("close", 7, args={"handle": 7}))
    if again:
        story.after(5_000).producer_ready()
    story.complete(opening, producer_name=NAME)
    check = trial(success_needs_answer, story.done())
    assert [finding.code for finding in check.findings] == codes


def test_seek_that_fails_over_an_error_is_right() -> None:
    story = _Story()
    story.asks("SEEK", "ERROR", **ERROR)
    story.complete(story.call, Outcome.FAIL, error=ErrorClass.OTHER)
    assert story.judged() == ([], 1)


def test_close_that_succeeds_against_an_error_is_accepted_for_it_may_return_nothing() -> None:
    story = _Story("close")
    story.asks("CLOSE_CONSUMER", "ERROR", **ERROR)
    story.complete(story.call)
    assert story.judged()[0] == []


def test_close_whose_connection_is_gone_needs_no_answer() -> None:
    story = _Story("close")
    story.asks("CLOSE_CONSUMER")
    story.cut()
    story.complete(story.call)
    assert story.judged() == ([], 1)


def test_close_that_crosses_the_one_of_the_broker_needs_no_answer() -> None:
    story = _Story("close")
    story.asks("CLOSE_CONSUMER")
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.complete(story.call)
    assert story.judged()[0] == []


def test_no_more_messages_needs_the_word_of_the_broker() -> None:
    story = _Story("has_message_available")
    story.asks("GET_LAST_MESSAGE_ID", "ERROR", **ERROR)
    story.complete(story.call, values={"available": False})
    assert story.judged()[0] == ["against-error"]


def test_more_messages_may_wait_in_the_client() -> None:
    story = _Story("has_message_available")
    story.asks("GET_LAST_MESSAGE_ID", "ERROR", **ERROR)
    story.complete(story.call, values={"available": True})
    assert story.judged()[0] == []


def test_consumer_that_is_refused_and_opens_is_found() -> None:
    story = Script()
    call = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})
    story.connected()
    fields = {"topic": story.full("t"), "subscription": "s"}
    story.up("SUBSCRIBE", consumer_id=0, request_id=1, fields=fields)
    story.down("ERROR", request_id=1, fields=ERROR)
    story.complete(call)
    assert [one.code for one in trial(success_needs_answer, story.done()).findings] == ["against-error"]


def test_producer_that_is_let_in_at_the_second_attempt_opens() -> None:
    story = Script()
    call = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected()
    asked = story.producer_asks()
    story.down("ERROR", request_id=asked.request_id, fields={"error": "ServiceNotReady"})
    story.producer_ready(producer_id=0)
    story.complete(call)
    assert trial(success_needs_answer, story.done()).findings == []


def test_send_that_succeeds_before_its_receipt_is_found() -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0)
    story.ok(0)
    story.receipt(0)
    assert [one.code for one in trial(success_needs_answer, story.done()).findings] == ["without-answer"]


@pytest.mark.parametrize("closed", [True, False])
def test_opening_that_succeeds_counts_where_its_client_is_closed_meanwhile(closed: bool) -> None:
    story = Script()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t", "client": 9})
    if closed:
        story.invoke("close", 9, args={"handle": 9})
    story.connected()
    story.producer_ready()
    story.complete(opening)
    check = trial(success_needs_answer, story.done())
    assert ([finding.code for finding in check.findings], check.exercised) == ([], int(closed))
