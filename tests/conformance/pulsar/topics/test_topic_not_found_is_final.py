"""The check of `topics.topic-not-found-is-final`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar._waiting_producer import Refused, opened

from assay_conformance.checks.trial import ANY_CLIENT, trial
from assay_conformance.history.script import CONSUMER, PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.topics.topic_not_found_is_final import topic_not_found_is_final


def test_producer_that_one_partition_refuses_may_come_back_to_others() -> None:
    story = Refused("TopicNotFound", topic="t-partition-0")
    story.after(500).producer_asks(1, topic="t-partition-1")
    assert codes_of(trial(topic_not_found_is_final, story.at(5_000).done())) == []


def test_an_answer_that_went_down_with_its_connection_may_not_have_been_read() -> None:
    story = Refused("TopicNotFound")
    story.cut(1)
    story.connected(2)
    story.after(500).producer_asks(2)
    assert "kept-trying" not in codes_of(trial(topic_not_found_is_final, story.at(5_000).done()))


def test_opening_that_ends_when_there_is_no_topic_is_accepted() -> None:
    check = trial(topic_not_found_is_final, opened("TopicNotFound", 10, ended_ms=20).done())
    assert (check.findings, check.exercised) == ([], 1)


def test_opening_that_goes_on_without_a_topic_is_found() -> None:
    check = trial(topic_not_found_is_final, opened("TopicNotFound", 10, 1_000).done())
    assert codes_of(check) == ["kept-trying", "still-opening"]


def test_opening_need_not_have_read_what_went_down_with_its_connection() -> None:
    assert codes_of(trial(topic_not_found_is_final, opened("TopicNotFound", 10, 1_000, lost=True).done())) == []


def test_an_answer_that_comes_when_nobody_waits_any_more_ends_nothing() -> None:
    story = Script()
    story.invoke("open_client", 8, args={"config": {"operation_timeout_ms": 1_000}})
    story.invoke("open_producer", PRODUCER, args={"topic": "t", "client": 8})
    story.connected()
    asked = story.at(10).producer_asks()
    story.at(1_200).down("ERROR", request_id=asked.request_id, fields={"error": "TopicNotFound"})
    story.at(1_500).producer_asks()
    assert codes_of(trial(topic_not_found_is_final, story.at(1_600).done())) == []


def test_consumer_that_comes_back_to_no_topic_is_found() -> None:
    story = Script()
    story.consumer()
    story.cut()
    story.connected(1)
    for ms in (500, 2_000):
        fields = {"topic": story.full("t"), "subscription": "s"}
        story.at(ms).up("SUBSCRIBE", 1, consumer_id=0, request_id=ms, fields=fields)
        story.down("ERROR", 1, request_id=ms, fields={"error": "TopicNotFound"})
    assert codes_of(trial(topic_not_found_is_final, story.at(6_000).done())) == ["kept-trying"]


@pytest.mark.parametrize(("letters", "codes"), [(True, []), (False, ["still-opening"])])
def test_opening_of_a_consumer_with_a_retry_letter_topic_waits_for_both(letters: bool, codes: list[str]) -> None:
    story = Script()
    opening = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})
    story.connected()
    fields = {"topic": story.full("t"), "subscription": "s"}
    story.up("SUBSCRIBE", consumer_id=0, request_id=8, fields=fields)
    story.down("ERROR", request_id=8, fields={"error": "TopicNotFound"})
    story.up("PING")
    story.at(2_000).complete(opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    facts = msgspec.structs.replace(ANY_CLIENT, fixed={"retry_letters": letters})
    assert codes_of(trial(topic_not_found_is_final, story.at(5_000).done(), facts=facts)) == codes
