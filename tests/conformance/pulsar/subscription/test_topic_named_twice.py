"""What becomes of a list that names a topic twice."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.subscription.topic_named_twice import topic_named_twice


class _Listed(Script):
    """A consumer of topic t is opened, which its list names so often."""

    def __init__(self, times: int = 2) -> None:
        super().__init__()
        self.connected(0)
        self.call = self.invoke("open_consumer", CONSUMER, args={"topics": ["t"] * times, "subscription": "s"})
        self.requests = 0

    def subscribes(self, answer: str = "SUCCESS", **fields: Any) -> None:
        self.requests += 1
        asked = {"topic": self.full("t"), "subscription": "s"}
        self.up("SUBSCRIBE", consumer_id=self.requests, request_id=self.requests, fields=asked)
        self.down(answer, request_id=self.requests, fields=fields)

    def judged(self, outcome: Outcome = Outcome.OK, error: ErrorClass | None = None) -> tuple[list[str], int]:
        self.complete(self.call, outcome, error=error)
        check = trial(topic_named_twice, self.done())
        return [finding.code for finding in check.findings], check.exercised


def test_one_subscribe_for_both_names_is_accepted() -> None:
    story = _Listed()
    story.subscribes()
    assert story.judged() == ([], 1)


def test_list_that_is_refused_is_accepted() -> None:
    assert _Listed().judged(Outcome.FAIL, ErrorClass.INVALID_CONFIG) == ([], 1)


def test_consumer_that_meets_itself_is_found() -> None:
    story = _Listed()
    story.subscribes()
    story.subscribes("ERROR", error="ConsumerBusy")
    assert story.judged(Outcome.FAIL, ErrorClass.OTHER)[0] == ["subscribes-twice"]


def test_consumer_that_meets_itself_until_its_time_is_over_is_found() -> None:
    story = _Listed()
    story.subscribes()
    story.subscribes("ERROR", error="ConsumerBusy")
    story.at(10_000).overdue(story.call)
    assert [finding.code for finding in trial(topic_named_twice, story.done()).findings] == ["subscribes-twice"]


def test_opening_that_does_not_end_shows_nothing_else() -> None:
    story = _Listed()
    story.subscribes()
    story.at(10_000).overdue(story.call)
    assert trial(topic_named_twice, story.done()).exercised == 0


def test_subscribe_that_was_refused_for_now_may_be_sent_again() -> None:
    story = _Listed()
    story.subscribes("ERROR", error="ServiceNotReady")
    story.subscribes()
    assert story.judged() == ([], 1)


def test_list_without_a_name_twice_is_no_matter_of_this() -> None:
    story = _Listed(1)
    story.subscribes()
    story.subscribes()
    assert story.judged() == ([], 0)
