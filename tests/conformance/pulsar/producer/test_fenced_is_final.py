"""The check of `producer.fenced-is-final`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar._waiting_producer import Refused, opened

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.checks.producer.fenced_is_final import fenced_is_final
from assay_conformance.pulsar.checks.topics.topic_not_found_is_final import topic_not_found_is_final


@pytest.mark.parametrize(
    ("check", "error"), [(fenced_is_final, "ProducerFenced"), (topic_not_found_is_final, "TopicNotFound")]
)
def test_refused_producer_that_fails_and_stays_away_is_accepted(check: type[Check], error: str) -> None:
    story = Refused(error)
    story.unknown(0, ErrorClass.FENCED)
    tried = trial(check, story.at(5_000).done())
    assert (tried.findings, tried.exercised) == ([], 1)


def test_consumer_that_is_answered_so_may_try_again() -> None:
    story = Script()
    story.connected(0)
    story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})
    for number in (1, 2):
        fields = {"topic": story.full("t"), "subscription": "s", "subType": "Exclusive"}
        story.up("SUBSCRIBE", consumer_id=0, request_id=number, fields=fields)
        story.down("ERROR", request_id=number, fields={"error": "ProducerFenced"})
        story.after(500)
    assert codes_of(trial(fenced_is_final, story.at(5_000).done())) == []


@pytest.mark.parametrize(
    ("error", "codes"), [(ErrorClass.OTHER, ["wrong-error"]), (ErrorClass.TIMEOUT, []), (ErrorClass.CLOSED, [])]
)
def test_send_of_a_fenced_producer_says_so_or_ends_for_a_reason_of_its_own(error: ErrorClass, codes: list[str]) -> None:
    story = Refused("ProducerFenced")
    story.unknown(0, error)
    assert codes_of(trial(fenced_is_final, story.at(5_000).done())) == codes


@pytest.mark.parametrize(
    ("check", "error"), [(fenced_is_final, "ProducerFenced"), (topic_not_found_is_final, "TopicNotFound")]
)
def test_refused_producer_that_keeps_its_send_and_tries_again_is_found(check: type[Check], error: str) -> None:
    story = Refused(error)
    story.after(500).producer_asks(1)
    assert codes_of(trial(check, story.at(5_000).done())) == ["kept-trying", "left-pending"]


def test_the_answer_to_a_request_that_was_withdrawn_is_heard_by_nobody() -> None:
    story = Refused("ProducerFenced", withdrawn=True)
    story.after(500).producer_asks(1)
    assert codes_of(trial(fenced_is_final, story.at(5_000).done())) == []


def test_producer_that_was_never_in_may_be_fenced_as_often_as_it_likes() -> None:
    check = trial(fenced_is_final, opened("ProducerFenced", 10, 1_000).done())
    assert (check.findings, check.exercised) == ([], 0)
