"""subscription.keeps-reconnecting, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest

from assay_conformance.checks.trial import ANY_CLIENT, trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.case import ConfigValue
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.subscription.keeps_reconnecting import keeps_reconnecting

OTHER = CONSUMER + 1


class _Open(Script):
    """A consumer that was admitted."""

    def __init__(self, topic: str = "t") -> None:
        super().__init__()
        self.topic = topic
        self.consumer(topic=topic)

    def asks(self, conn: int = 1, request_id: int = 70) -> None:
        named = {"topic": self.full(self.topic), "subscription": "s"}
        self.up("SUBSCRIBE", conn, consumer_id=0, request_id=request_id, fields=named)

    def is_refused(self, error: str = "ServiceNotReady", request_id: int = 70) -> None:
        self.asks(1, request_id)
        self.down("ERROR", 1, request_id=request_id, fields={"error": error})

    def judged(
        self, waits_ms: int = 9_000, outcome: Outcome = Outcome.OK, operation_timeout_ms: int = 0
    ) -> tuple[list[str], int]:
        """After so long the application receives, and gets nothing."""
        self.after(waits_ms)
        self.complete(self.invoke("receive", CONSUMER, args={"count": 1}), outcome, count=0)
        fixed: dict[str, ConfigValue] = {"operation_timeout_ms": operation_timeout_ms} if operation_timeout_ms else {}
        check = trial(keeps_reconnecting, self.done(), facts=msgspec.structs.replace(ANY_CLIENT, fixed=fixed))
        return [finding.code for finding in check.findings], check.exercised


def _lost() -> _Open:
    story = _Open()
    story.cut(0)
    return story


def _refused(error: str = "ServiceNotReady") -> _Open:
    story = _lost()
    story.connected(1)
    story.is_refused(error)
    return story


def test_consumer_that_comes_back_is_accepted() -> None:
    story = _lost()
    story.connected(1)
    story.subscribed(1)
    assert story.judged() == ([], 1)


def test_consumer_that_lost_its_connection_and_never_tries_again_is_found() -> None:
    assert _lost().judged() == (["stayed-away"], 0)


@pytest.mark.parametrize(("operation_timeout_ms", "codes"), [(10_000, []), (1_000, ["stayed-away"])])
def test_consumer_may_notice_that_its_subscribe_was_lost_when_its_time_is_over(
    operation_timeout_ms: int, codes: list[str]
) -> None:
    story = _lost()
    story.connected(1)
    story.asks(1)
    story.cut(1)
    assert story.judged(operation_timeout_ms=operation_timeout_ms)[0] == codes


def test_consumer_whose_open_call_failed_need_not_come_back() -> None:
    story = _Open()
    opening = story.invoke("open_consumer", OTHER, args={"topics": ["t"], "subscription": "s"})
    story.up("SUBSCRIBE", consumer_id=1, request_id=50, fields={"topic": story.full("t"), "subscription": "s"})
    story.down("SUCCESS", request_id=50)
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=51)
    story.cut(0)
    story.complete(opening, Outcome.FAIL, error=ErrorClass.TERMINATED)
    story.after(9_000)
    story.complete(story.invoke("receive", OTHER, args={"count": 1}), count=0)
    assert trial(keeps_reconnecting, story.done()).findings == []


def test_consumer_that_the_broker_closed_and_that_never_tries_again_is_found() -> None:
    story = _Open()
    story.down("CLOSE_CONSUMER", consumer_id=0)
    assert story.judged() == (["stayed-away"], 0)


@pytest.mark.parametrize("error", ["ServiceNotReady", "ConsumerBusy", "AuthorizationError"])
def test_consumer_that_gives_up_over_a_refusal_is_found(error: str) -> None:
    assert _refused(error).judged() == (["stayed-away"], 1)


def test_consumer_that_comes_back_only_when_it_is_received_from_is_found() -> None:
    story = _lost()
    story.after(9_000)
    story.connected(1)
    story.subscribed(1)
    assert story.judged(waits_ms=200)[0] == ["stayed-away"]


def test_consumer_that_asks_until_it_is_admitted_is_accepted() -> None:
    story = _refused()
    story.is_refused(request_id=71)
    story.subscribed(1)
    assert story.judged() == ([], 3)


def test_wait_that_is_as_long_as_all_before_it_is_a_backoff() -> None:
    story = _refused()
    story.after(5_000)
    story.is_refused(request_id=71)
    assert story.judged()[0] == []


def test_consumer_whose_connection_ends_while_it_subscribes_has_to_come_again() -> None:
    story = _lost()
    story.connected(1)
    story.asks()
    story.cut(1)
    assert story.judged()[0] == ["stayed-away"]


def test_subscribe_that_waits_for_its_answer_is_an_attempt_under_way() -> None:
    story = _lost()
    story.connected(1)
    story.asks()
    assert story.judged()[0] == []


def test_lookup_that_was_answered_and_led_to_nothing_is_found() -> None:
    story = _lost()
    story.connected(1)
    story.up("LOOKUP", 1, request_id=77, fields={"topic": story.full("t")})
    story.down("LOOKUP_RESPONSE", 1, request_id=77, fields={"response": "Connect"})
    assert story.judged()[0] == ["stayed-away"]


def test_receive_of_what_had_come_before_the_trouble_reports_nothing() -> None:
    """pulsar-client-go 0.21.0 gives up over ConsumerBusy, hands over what it has prefetched, and fails then."""
    story = _refused("ConsumerBusy")
    story.after(9_000)
    story.complete(story.invoke("receive", CONSUMER, args={"count": 2}), count=2)
    assert trial(keeps_reconnecting, story.done()).findings == []
    assert story.judged()[0] == ["stayed-away"]


def test_receive_that_fails_reports_the_end() -> None:
    assert _refused().judged(outcome=Outcome.FAIL)[0] == []


def test_consumer_that_is_not_received_from_may_have_an_end_to_report() -> None:
    story = _refused()
    assert trial(keeps_reconnecting, story.after(9_000).done()).findings == []


def test_consumer_of_partitions_may_go_on_with_the_others() -> None:
    story = _Open("t-partition-0")
    story.cut(0)
    story.connected(1)
    story.is_refused("AuthorizationError")
    assert story.judged()[0] == []


def test_consumer_that_the_application_closes_need_not_come_back() -> None:
    story = _lost()
    story.invoke("close", CONSUMER, args={"handle": CONSUMER})
    assert story.judged()[0] == []


def test_subscribe_that_another_consumer_may_have_made_may_be_the_return() -> None:
    story = _lost()
    another = story.invoke("open_consumer", CONSUMER + 7, args={"topics": ["t"], "subscription": "s"})
    story.connected(1)
    story.subscribed(1)
    story.complete(another, Outcome.FAIL)
    assert story.judged(20_000)[0] == []
