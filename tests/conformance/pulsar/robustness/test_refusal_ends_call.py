"""The check of `robustness.refusal-ends-call`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import codes_of, judged
from tests.conformance.pulsar._waiting_producer import opened

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.checks.robustness.refusal_ends_call import refusal_ends_call


class _Refused(Script):
    """A consumer makes a call, whose request is refused."""

    def __init__(self, verb: str = "seek", command: str = "SEEK") -> None:
        super().__init__()
        self.consumer()
        self.call = self.at(500).invoke(verb, CONSUMER, args={"handle": CONSUMER})
        self.asks(command)

    def asks(self, command: str = "SEEK") -> None:
        asked = self.up(command, consumer_id=0, request_id=self.last_request + 1)
        self.last_request += 1
        self.down("ERROR", request_id=asked.request_id, fields={"error": "MetadataError"})

    last_request = 8


@pytest.mark.parametrize(("verb", "command"), [("seek", "SEEK"), ("unsubscribe", "UNSUBSCRIBE")])
def test_call_that_fails_with_its_refusal_is_right(verb: str, command: str) -> None:
    story = _Refused(verb, command)
    story.complete(story.call, Outcome.FAIL)
    assert judged(refusal_ends_call, story) == ([], 1)


def test_seek_that_asks_again_is_found() -> None:
    story = _Refused()
    story.after(100)
    story.asks()
    story.complete(story.call, Outcome.FAIL)
    assert "kept-trying" in judged(refusal_ends_call, story)[0]


def test_seek_that_waits_on_is_found() -> None:
    story = _Refused()
    story.at(5_000).complete(story.call, Outcome.FAIL)
    assert judged(refusal_ends_call, story)[0] == ["kept-waiting"]


def test_refusal_that_went_down_with_its_connection_may_not_have_been_read() -> None:
    story = _Refused()
    story.cut()
    story.at(5_000).complete(story.call, Outcome.FAIL)
    assert judged(refusal_ends_call, story)[0] == []


@pytest.mark.parametrize("error", ["AuthorizationError", "TopicTerminatedError"])
def test_opening_that_ends_with_its_refusal_is_right(error: str) -> None:
    check = trial(refusal_ends_call, opened(error, 10, ended_ms=20).done())
    assert (codes_of(check), check.exercised) == ([], 1)


@pytest.mark.parametrize("error", ["AuthorizationError", "TopicTerminatedError"])
def test_opening_that_asks_again_is_found(error: str) -> None:
    check = trial(refusal_ends_call, opened(error, 10, 1_000).done())
    assert codes_of(check) == ["kept-trying", "still-opening"]


def test_opening_may_be_tried_again_where_its_broker_is_busy() -> None:
    assert codes_of(trial(refusal_ends_call, opened("TooManyRequests", 10, 1_000).done())) == []


def test_consumer_of_a_terminated_topic_may_be_tried_again() -> None:
    story = Script()
    opening = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})
    story.connected()
    for ms in (10, 1_000):
        asked = story.at(ms).up("SUBSCRIBE", consumer_id=0, request_id=ms, fields={"topic": "t", "subscription": "s"})
        story.down("ERROR", request_id=asked.request_id, fields={"error": "TopicTerminatedError"})
    story.at(5_000).complete(opening, Outcome.FAIL)
    assert judged(refusal_ends_call, story)[0] == []
