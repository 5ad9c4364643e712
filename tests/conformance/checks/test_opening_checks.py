"""Openings that meet a setback, both ways."""

from __future__ import annotations

import msgspec
import pytest

from assay_conformance.checks.opening import KeepsOpening, RetriesNotReady
from assay_conformance.checks.trial import ANY_CLIENT, trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import ClosedBy, ErrorClass, Invoke, Outcome

CLIENT = 7


class _Opening(Script):
    def __init__(self) -> None:
        super().__init__()
        self.asked: Invoke = self.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})

    def asks(self, request: int = 7, conn: int = 0, topic: str = "t") -> None:
        fields = {"topic": self.full(topic), "subscription": "s"}
        self.up("SUBSCRIBE", conn, consumer_id=0, request_id=request, fields=fields)

    def is_not_ready(self, request: int = 7) -> None:
        self.is_refused(request, "ServiceNotReady")

    def is_refused(self, request: int = 7, error: str = "TooManyRequests") -> None:
        self.down("ERROR", request_id=request, fields={"error": error})

    def judged(self, by: type[KeepsOpening | RetriesNotReady] = RetriesNotReady) -> tuple[list[str], int]:
        check = trial(by, self.done())
        return [finding.code for finding in check.findings], check.exercised


def test_consumer_that_asks_again_is_accepted() -> None:
    story = _Opening()
    story.connected()
    story.asks()
    story.is_not_ready()
    story.asks(8)
    story.down("SUCCESS", request_id=8)
    story.complete(story.asked)
    assert story.judged() == ([], 1)


def test_consumer_that_is_handed_out_unadmitted_is_found() -> None:
    story = _Opening()
    story.connected()
    story.asks()
    story.is_not_ready()
    story.complete(story.asked)
    assert story.judged()[0] == ["gave-up"]
    assert story.judged(KeepsOpening) == ([], 0)


def test_opening_that_fails_when_its_next_pause_would_not_fit_is_accepted() -> None:
    story = _Opening()
    story.connected()
    story.asks()
    story.is_not_ready()
    story.after(100)
    story.asks(8)
    story.at(16_000)
    story.is_not_ready(8)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert story.judged(KeepsOpening) == ([], 1)


def test_opening_that_fails_over_a_lost_connection_is_found() -> None:
    story = _Opening()
    story.opened(1)
    story.cut(1, ClosedBy.FAULT)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TRANSPORT)
    assert story.judged(KeepsOpening)[0] == ["gave-up"]
    assert story.judged(RetriesNotReady) == ([], 0)


def test_opening_that_waits_for_its_time_out_without_another_attempt_is_found() -> None:
    story = _Opening()
    story.connected()
    story.asks()
    story.is_not_ready()
    story.at(30_000)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert story.judged()[0] == ["waited-in-vain"]


def test_opening_may_fail_when_its_time_is_almost_over() -> None:
    story = _Opening()
    story.connected()
    story.at(29_500)
    story.asks()
    story.is_not_ready()
    story.at(30_000)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert story.judged() == ([], 0)


def test_time_of_an_opening_is_that_of_its_own_client() -> None:
    story = Script()
    story.invoke("open_client", CLIENT, args={"config": {"operation_timeout_ms": 1_000}})
    asked = story.invoke("open_consumer", CONSUMER, args={"client": CLIENT, "topics": ["t"], "subscription": "s"})
    story.opened(1)
    story.after(990).cut(1, ClosedBy.FAULT)
    story.complete(asked, Outcome.FAIL, error=ErrorClass.TRANSPORT)
    assert trial(KeepsOpening, story.done()).findings == []


def test_opening_that_its_application_ends_gives_nothing_up() -> None:
    story = _Opening()
    story.connected()
    story.asks()
    story.is_not_ready()
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.CLOSED)
    assert story.judged() == ([], 0)


def test_refusal_of_another_that_comes_back_is_no_setback() -> None:
    story = Script()
    story.producer()
    asked = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})
    again = story.producer_asks()
    story.down("ERROR", request_id=again.request_id, fields={"error": "ServiceNotReady"})
    story.complete(asked)
    check = trial(RetriesNotReady, story.done())
    assert (check.findings, check.exercised) == ([], 0)


def test_what_was_registered_and_went_with_its_connection_sets_nothing_back() -> None:
    story = _Opening()
    story.connected()
    story.asks()
    story.down("SUCCESS", request_id=7)
    story.cut()
    story.connected(1)
    story.asks(8, conn=1)
    story.down("ERROR", 1, request_id=8, fields={"error": "ServiceNotReady"})
    story.complete(story.asked)
    assert story.judged() == ([], 0)


def test_opening_that_asks_again_behind_its_time_is_found() -> None:
    story = _Opening()
    story.connected()
    story.asks()
    story.is_not_ready()
    story.at(32_000)
    story.asks(8)
    assert story.judged(KeepsOpening)[0] == ["went-on"]
    assert story.judged(RetriesNotReady)[0] == []


def test_opening_that_failed_in_its_time_behind_several_attempts_is_accepted() -> None:
    story = _Opening()
    story.connected()
    story.asks()
    story.is_not_ready()
    story.at(29_500)
    story.asks(8)
    story.is_not_ready(8)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert story.judged(KeepsOpening) == ([], 1)


def test_opening_that_ends_well_had_no_need_of_a_connection_that_was_lost_beside_it() -> None:
    story = _Opening()
    story.opened(1)
    story.cut(1, ClosedBy.FAULT)
    story.complete(story.asked)
    assert story.judged(KeepsOpening)[0] == []


def test_opening_that_is_refused_one_of_its_partitions_need_not_wait_for_another() -> None:
    story = _Opening()
    story.connected()
    story.connected(1)
    story.asks(topic="t-partition-0")
    story.asks(8, conn=1, topic="t-partition-1")
    story.is_refused()
    story.cut(1, ClosedBy.FAULT)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.OTHER)
    assert story.judged(KeepsOpening) == ([], 0)


def test_opening_that_asks_again_where_it_was_refused_waits_for_the_others_too() -> None:
    story = _Opening()
    story.connected()
    story.connected(1)
    story.asks(topic="t-partition-0")
    story.is_refused()
    story.asks(8, topic="t-partition-0")
    story.asks(9, conn=1, topic="t-partition-1")
    story.cut(1, ClosedBy.FAULT)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.OTHER)
    assert story.judged(KeepsOpening)[0] == ["gave-up"]


def test_opening_that_is_reported_as_done_is_not_excused_by_a_refusal() -> None:
    story = _Opening()
    story.connected()
    story.connected(1)
    story.asks(topic="t-partition-0")
    story.asks(8, conn=1, topic="t-partition-1")
    story.is_refused()
    story.cut(1, ClosedBy.FAULT)
    story.complete(story.asked)
    assert story.judged(KeepsOpening)[0] == ["gave-up"]


def test_opening_that_looked_a_partition_up_in_vain_need_not_wait_for_another() -> None:
    story = _Opening()
    story.connected()
    story.connected(1)
    story.asks(conn=1, topic="t-partition-1")
    story.up("LOOKUP", request_id=8, fields={"topic": story.full("t-partition-0")})
    story.down("LOOKUP_RESPONSE", request_id=8, fields={"response": "Failed", "error": "AuthorizationError"})
    story.cut(1, ClosedBy.FAULT)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.OTHER)
    assert story.judged(KeepsOpening) == ([], 0)


def _partition_refused_beside_another(looked_up: int) -> _Opening:
    """A look-up of partition 0 is refused, this partition is looked up, and a third one meets a broker not ready."""
    story = _Opening()
    story.connected()
    story.up("LOOKUP", request_id=8, fields={"topic": story.full("t-partition-0")})
    story.down("LOOKUP_RESPONSE", request_id=8, fields={"response": "Failed", "error": "NotAllowedError"})
    story.up("LOOKUP", request_id=9, fields={"topic": story.full(f"t-partition-{looked_up}")})
    story.down("LOOKUP_RESPONSE", request_id=9, fields={"response": "Connect"})
    story.asks(topic="t-partition-2")
    story.is_not_ready()
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.OTHER)
    return story


def test_look_up_of_another_partition_takes_no_refusal_back() -> None:
    assert _partition_refused_beside_another(looked_up=1).judged() == ([], 0)


def test_opening_that_looked_a_partition_up_again_has_no_excuse_of_its_refusal() -> None:
    assert _partition_refused_beside_another(looked_up=0).judged()[0] == ["gave-up"]


def test_broker_that_was_not_ready_before_the_connection_was_lost_was_not_what_ended_the_opening() -> None:
    story = _Opening()
    story.connected()
    story.asks()
    story.is_not_ready()
    story.asks(8)
    story.cut()
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TRANSPORT)
    assert story.judged(RetriesNotReady) == ([], 1)
    assert story.judged(KeepsOpening)[0] == ["gave-up"]


class _WithLetters(_Opening):
    """Its retry letter topic is subscribed to as well."""

    def asks_both(self) -> None:
        self.asks()
        fields = {"topic": f"{self.full('t')}-s-RETRY", "subscription": "s"}
        self.up("SUBSCRIBE", consumer_id=1, request_id=8, fields=fields)

    def judged_with(self, *, letters: bool) -> list[str]:
        facts = msgspec.structs.replace(ANY_CLIENT, fixed={"retry_letters": letters})
        return [finding.code for finding in trial(RetriesNotReady, self.done(), facts=facts).findings]


@pytest.mark.parametrize(("letters", "codes"), [(True, []), (False, ["gave-up"])])
def test_opening_that_is_refused_its_retry_letter_topic_need_not_wait_for_the_other(
    letters: bool, codes: list[str]
) -> None:
    story = _WithLetters()
    story.connected()
    story.asks_both()
    story.is_not_ready()
    story.is_refused(8, "TopicTerminatedError")
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TERMINATED)
    assert story.judged_with(letters=letters) == codes


def test_setback_that_comes_while_the_word_of_the_end_is_on_its_way_is_none() -> None:
    story = _Opening()
    story.connected()
    story.asks()
    done_ns = story.now_ns
    story.after(5)
    story.is_not_ready()
    story.after(70).complete(story.asked, Outcome.FAIL, error=ErrorClass.OTHER, done_ns=done_ns)
    assert story.judged()[0] == []
