"""How a consumer that was closed stays away, both ways."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.subscription.closed_stays_closed import closed_stays_closed


class _Away(Script):
    """A consumer whose connection was lost, and which the application closes then."""

    def __init__(self) -> None:
        super().__init__()
        self.consumer()
        self.cut(0)
        self.connected(1)

    def asks(self) -> None:
        self.up("SUBSCRIBE", 1, consumer_id=0, request_id=7, fields={"topic": self.full("t"), "subscription": "s"})

    def closes(self, **end: Any) -> None:
        self.complete(self.invoke("close", CONSUMER, args={"handle": CONSUMER}), **end)

    def admits(self) -> None:
        self.down("SUCCESS", 1, request_id=7)

    def judged(self) -> tuple[list[str], int]:
        check = trial(closed_stays_closed, self.at(5_000).done())
        return [finding.code for finding in check.findings], check.exercised


def test_consumer_that_stays_away_is_accepted() -> None:
    story = _Away()
    story.closes()
    assert story.judged() == ([], 1)


@pytest.mark.parametrize(
    ("outcome", "error", "exercised"),
    [
        (Outcome.FAIL, ErrorClass.TRANSPORT, 1),
        (Outcome.UNKNOWN, ErrorClass.TRANSPORT, 1),
        (Outcome.UNKNOWN, ErrorClass.TIMEOUT, 0),
        (Outcome.UNKNOWN, ErrorClass.OTHER, 1),
    ],
)
def test_close_that_fails_for_want_of_a_connection_is_a_close(
    outcome: Outcome, error: ErrorClass, exercised: int
) -> None:
    story = _Away()
    story.closes(outcome=outcome, error=error)
    assert story.judged() == ([], exercised)


def test_consumer_that_subscribes_again_after_its_close_is_found() -> None:
    story = _Away()
    story.closes()
    story.after(500)
    story.asks()
    assert story.judged()[0] == ["came-back"]


def test_consumer_that_its_client_refused_to_close_and_that_subscribes_again_is_found() -> None:
    story = _Away()
    story.closes(outcome=Outcome.UNKNOWN, error=ErrorClass.OTHER)
    story.after(500)
    story.asks()
    assert story.judged()[0] == ["came-back"]


def test_close_that_a_broker_was_asked_for_is_not_refused_by_the_client() -> None:
    story = _Away()
    close = story.invoke("close", CONSUMER, args={"handle": CONSUMER})
    story.up("CLOSE_CONSUMER", 1, consumer_id=0, request_id=8)
    story.complete(close, outcome=Outcome.UNKNOWN, error=ErrorClass.OTHER)
    story.after(500)
    story.asks()
    assert story.judged() == ([], 0)


def test_subscribe_of_another_consumer_that_came_meanwhile_is_its_own() -> None:
    story = _Away()
    story.closes()
    story.invoke("open_consumer", 3, args={"topics": ["t"], "subscription": "s"})
    story.after(500)
    story.asks()
    assert story.judged() == ([], 1)


@pytest.mark.parametrize(("later_ms", "codes"), [(5, []), (500, ["came-back"])])
def test_subscribe_of_another_consumer_that_was_just_closed_may_have_been_under_way(
    later_ms: float, codes: list[str]
) -> None:
    story = _Away()
    story.invoke("open_consumer", 3, args={"topics": ["t"], "subscription": "s"})
    story.closes()
    story.after(500)
    story.complete(story.invoke("close", 3, args={"handle": 3}))
    story.after(later_ms)
    story.asks()
    assert story.judged()[0] == codes


def test_broker_that_admits_it_late_and_is_told_is_accepted() -> None:
    story = _Away()
    story.asks()
    story.closes()
    story.admits()
    story.up("CLOSE_CONSUMER", 1, consumer_id=0, request_id=8)
    assert story.judged() == ([], 1)


def test_broker_that_admits_it_late_and_is_not_told_is_found() -> None:
    story = _Away()
    story.asks()
    story.closes()
    story.admits()
    story.flow(1_000, conn=1)
    assert story.judged()[0] == ["left-behind"]


def test_connection_that_ends_tells_the_broker_too() -> None:
    story = _Away()
    story.asks()
    story.closes()
    story.admits()
    story.closed(1)
    assert story.judged() == ([], 1)


def test_consumer_that_was_there_when_it_was_closed_is_no_matter_of_this() -> None:
    story = Script()
    story.consumer()
    story.complete(story.invoke("close", CONSUMER, args={"handle": CONSUMER}))
    check = trial(closed_stays_closed, story.at(5_000).done())
    assert (check.findings, check.exercised) == ([], 0)
