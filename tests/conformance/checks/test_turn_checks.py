"""Waiting for a topic, coming back to it, and being told that it is another one's, or gone."""

from __future__ import annotations

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.final_refusals import DeletedIsFinal, FencedIsFinal
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.checks.turns import EchoesTopicEpoch, WaitsForItsTurn
from assay_conformance.history.script import CONSUMER, NAME, PRODUCER, Script
from assay_conformance.model.case import ClientConfig
from assay_conformance.model.event import Completion, ErrorClass, Invoke, Outcome

TIMEOUT_MS = 1_000


def _codes(check: Check) -> list[str]:
    return [finding.code for finding in check.findings]


class _Waiting(Script):
    """A producer that was told to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.opening: Invoke = self.invoke("open_producer", PRODUCER, args={"topic": "t"})
        self.connected(0)
        self.asked = self.producer_asks()
        self.told(ready=False)

    def told(self, *, ready: bool) -> None:
        answer = {"producer_name": NAME, "producer_ready": ready}
        self.down("PRODUCER_SUCCESS", request_id=self.asked.request_id, fields=answer)

    def ends(self, outcome: Outcome, error: ErrorClass | None = None) -> Completion:
        return self.complete(self.opening, outcome, error=error)

    def judged(self) -> Check:
        case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(client={"operation_timeout_ms": TIMEOUT_MS}))
        facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"operation_timeout_ms"}))
        return trial(WaitsForItsTurn, self.at(9_000).done(), case, facts)


def test_producer_let_in_long_after_its_time_out_is_accepted() -> None:
    story = _Waiting()
    story.at(3_000)
    story.told(ready=True)
    story.ends(Outcome.OK)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_that_times_out_while_it_waits_is_found() -> None:
    story = _Waiting()
    story.at(1_100)
    story.ends(Outcome.FAIL, ErrorClass.TIMEOUT)
    assert _codes(story.judged()) == ["gave-up"]


def test_producer_taken_for_open_while_it_waits_is_found() -> None:
    story = _Waiting()
    story.ends(Outcome.OK)
    assert _codes(story.judged()) == ["opened-unadmitted"]


def test_producer_that_asks_again_on_a_new_connection_is_accepted() -> None:
    story = _Waiting()
    story.cut()
    story.connected(1)
    story.producer_asks(1)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_that_lost_its_place_and_does_nothing_is_found() -> None:
    story = _Waiting()
    story.cut()
    assert _codes(story.judged()) == ["not-asked-again"]


def test_producer_that_lost_its_place_and_failed_is_accepted() -> None:
    story = _Waiting()
    story.cut()
    story.ends(Outcome.FAIL, ErrorClass.TRANSPORT)
    assert _codes(story.judged()) == []


# --- echoes-topic-epoch -----------------------------------------------------------------------------------------------


def _returns(**fields: int) -> Check:
    story = Script()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected(0)
    asked = story.producer_asks()
    answer = {"producer_name": NAME, "topic_epoch": 3}
    story.down("PRODUCER_SUCCESS", request_id=asked.request_id, fields=answer)
    story.complete(opening, producer_name=NAME)
    story.send(0)
    story.send_frame(0)
    story.cut()
    story.producer_again(1, **fields)
    return trial(EchoesTopicEpoch, story.done())


def test_producer_that_says_its_epoch_is_accepted() -> None:
    check = _returns(topic_epoch=3)
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize("said", [{}, {"topic_epoch": 0}], ids=str)
def test_producer_that_says_none_or_another_epoch_is_found(said: dict[str, int]) -> None:
    assert _codes(_returns(**said)) == ["epoch-not-said"]


# --- fenced-is-final and deleted-is-final -----------------------------------------------------------------------------


class _Refused(Script):
    """A producer with one send pending is refused when it comes back."""

    def __init__(self, error: str, *, withdrawn: bool = False, topic: str = "t") -> None:
        super().__init__()
        self.producer(topic=topic)
        self.send(0)
        self.send_frame(0)
        self.after(30).cut()
        self.connected(1)
        asked = self.producer_asks(1, topic=topic)
        if withdrawn:
            self.up("CLOSE_PRODUCER", 1, producer_id=0, request_id=77)
        self.down("ERROR", 1, request_id=asked.request_id, fields={"error": error})


@pytest.mark.parametrize(("check", "error"), [(FencedIsFinal, "ProducerFenced"), (DeletedIsFinal, "TopicNotFound")])
def test_refused_producer_that_fails_and_stays_away_is_accepted(check: type[Check], error: str) -> None:
    story = _Refused(error)
    story.unknown(0, ErrorClass.FENCED)
    tried = trial(check, story.at(5_000).done())
    assert (tried.findings, tried.exercised) == ([], 1)


@pytest.mark.parametrize(
    ("error", "codes"), [(ErrorClass.OTHER, ["wrong-error"]), (ErrorClass.TIMEOUT, []), (ErrorClass.CLOSED, [])]
)
def test_send_of_a_fenced_producer_says_so_or_ends_for_a_reason_of_its_own(error: ErrorClass, codes: list[str]) -> None:
    story = _Refused("ProducerFenced")
    story.unknown(0, error)
    assert _codes(trial(FencedIsFinal, story.at(5_000).done())) == codes


@pytest.mark.parametrize(("check", "error"), [(FencedIsFinal, "ProducerFenced"), (DeletedIsFinal, "TopicNotFound")])
def test_refused_producer_that_keeps_its_send_and_tries_again_is_found(check: type[Check], error: str) -> None:
    story = _Refused(error)
    story.after(500).producer_asks(1)
    assert _codes(trial(check, story.at(5_000).done())) == ["kept-trying", "left-pending"]


def test_producer_that_one_partition_refuses_may_come_back_to_others() -> None:
    story = _Refused("TopicNotFound", topic="t-partition-0")
    story.after(500).producer_asks(1, topic="t-partition-1")
    assert _codes(trial(DeletedIsFinal, story.at(5_000).done())) == []


def test_an_answer_that_went_down_with_its_connection_may_not_have_been_read() -> None:
    story = _Refused("TopicNotFound")
    story.cut(1)
    story.connected(2)
    story.after(500).producer_asks(2)
    assert "kept-trying" not in _codes(trial(DeletedIsFinal, story.at(5_000).done()))


def test_the_answer_to_a_request_that_was_withdrawn_is_heard_by_nobody() -> None:
    story = _Refused("ProducerFenced", withdrawn=True)
    story.after(500).producer_asks(1)
    assert _codes(trial(FencedIsFinal, story.at(5_000).done())) == []


def _opening(error: str, *asked_ms: int, ended_ms: int = 5_000, lost: bool = False) -> Script:
    """A producer that is opened is refused whenever it asks."""
    story = Script()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected()
    for number, ms in enumerate(asked_ms):
        conn = number if lost else 0
        if conn:
            story.connected(conn)
        asked = story.at(ms).producer_asks(conn)
        story.down("ERROR", conn, request_id=asked.request_id, fields={"error": error})
        if lost:
            story.cut(conn)
    story.at(ended_ms).complete(opening, Outcome.FAIL)
    return story.at(6_000)


def test_producer_that_was_never_in_may_be_fenced_as_often_as_it_likes() -> None:
    check = trial(FencedIsFinal, _opening("ProducerFenced", 10, 1_000).done())
    assert (check.findings, check.exercised) == ([], 0)


def test_opening_that_ends_when_there_is_no_topic_is_accepted() -> None:
    check = trial(DeletedIsFinal, _opening("TopicNotFound", 10, ended_ms=20).done())
    assert (check.findings, check.exercised) == ([], 1)


def test_opening_that_goes_on_without_a_topic_is_found() -> None:
    check = trial(DeletedIsFinal, _opening("TopicNotFound", 10, 1_000).done())
    assert _codes(check) == ["kept-trying", "still-opening"]


def test_opening_need_not_have_read_what_went_down_with_its_connection() -> None:
    assert _codes(trial(DeletedIsFinal, _opening("TopicNotFound", 10, 1_000, lost=True).done())) == []


def test_an_answer_that_comes_when_nobody_waits_any_more_ends_nothing() -> None:
    story = Script()
    story.invoke("open_client", 8, args={"config": {"operation_timeout_ms": 1_000}})
    story.invoke("open_producer", PRODUCER, args={"topic": "t", "client": 8})
    story.connected()
    asked = story.at(10).producer_asks()
    story.at(1_200).down("ERROR", request_id=asked.request_id, fields={"error": "TopicNotFound"})
    story.at(1_500).producer_asks()
    assert _codes(trial(DeletedIsFinal, story.at(1_600).done())) == []


def test_consumer_that_comes_back_to_no_topic_is_found() -> None:
    story = Script()
    story.consumer()
    story.cut()
    story.connected(1)
    for ms in (500, 2_000):
        fields = {"topic": story.full("t"), "subscription": "s"}
        story.at(ms).up("SUBSCRIBE", 1, consumer_id=0, request_id=ms, fields=fields)
        story.down("ERROR", 1, request_id=ms, fields={"error": "TopicNotFound"})
    assert _codes(trial(DeletedIsFinal, story.at(6_000).done())) == ["kept-trying"]


# --- a producer of several partitions ---------------------------------------------------------------------------------


class _OfPartitions(Script):
    """The producer of partition 0 was told to wait; that of partition 1 has asked."""

    def __init__(self) -> None:
        super().__init__()
        self.opening: Invoke = self.invoke("open_producer", PRODUCER, args={"topic": "t"})
        self.connected(0)
        waits = self.producer_asks(topic="t-partition-0")
        self.other = self.producer_asks(topic="t-partition-1", producer_id=1)
        self.down("PRODUCER_SUCCESS", request_id=waits.request_id, fields=_WAITS)

    def judged(self) -> list[str]:
        return _codes(trial(WaitsForItsTurn, self.at(9_000).done()))


_WAITS = {"producer_name": NAME, "producer_ready": False}


def test_producer_that_waits_on_one_partition_may_have_no_time_left_for_an_answer_about_another() -> None:
    story = _OfPartitions()
    story.at(1_100).complete(story.opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert story.judged() == []


def test_producer_that_waits_on_both_partitions_and_times_out_is_found() -> None:
    story = _OfPartitions()
    story.down("PRODUCER_SUCCESS", request_id=story.other.request_id, fields=_WAITS)
    story.at(1_100).complete(story.opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert story.judged() == ["gave-up"]


def test_producer_taken_for_open_when_one_of_two_partitions_let_it_in_is_found() -> None:
    story = _OfPartitions()
    story.down("PRODUCER_SUCCESS", request_id=story.other.request_id, fields={**_WAITS, "producer_ready": True})
    story.complete(story.opening)
    assert story.judged() == ["opened-unadmitted"]


def test_producer_that_is_told_to_wait_when_it_comes_back_had_been_let_in() -> None:
    story = _Waiting()
    story.told(ready=True)
    done_ns = story.now_ns
    story.after(20).cut()
    story.connected(1)
    asked = story.producer_asks(1)
    story.down("PRODUCER_SUCCESS", 1, request_id=asked.request_id, fields=_WAITS)
    story.after(70).complete(story.opening, done_ns=done_ns)
    assert _codes(story.judged()) == []


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
    assert _codes(trial(DeletedIsFinal, story.at(5_000).done(), facts=facts)) == codes
