"""The check of `producer.waits-for-exclusive-access`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import NAME, PRODUCER, Script
from assay_conformance.model.case import ClientConfig
from assay_conformance.model.event import Completion, ErrorClass, Invoke, Outcome
from assay_conformance.pulsar.checks.producer.waits_for_exclusive_access import waits_for_exclusive_access

TIMEOUT_MS = 1_000


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
        return trial(waits_for_exclusive_access, self.at(9_000).done(), case, facts)


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
    assert codes_of(story.judged()) == ["gave-up"]


def test_producer_taken_for_open_while_it_waits_is_found() -> None:
    story = _Waiting()
    story.ends(Outcome.OK)
    assert codes_of(story.judged()) == ["opened-unadmitted"]


def test_producer_that_asks_again_on_a_new_connection_is_accepted() -> None:
    story = _Waiting()
    story.cut()
    story.connected(1)
    story.producer_asks(1)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_that_had_been_open_and_asks_again_after_a_second_loss_is_accepted() -> None:
    story = Script()
    story.producer()
    for conn in (1, 2):
        story.cut(conn - 1)
        story.connected(conn)
        waiting = story.producer_asks(conn)
        said = {"producer_name": NAME, "producer_ready": False}
        story.down("PRODUCER_SUCCESS", conn, request_id=waiting.request_id, fields=said)
    check = trial(waits_for_exclusive_access, story.at(9_000).done())
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_that_lost_its_place_and_does_nothing_is_found() -> None:
    story = _Waiting()
    story.cut()
    assert codes_of(story.judged()) == ["not-asked-again"]


def test_producer_that_lost_its_place_and_failed_is_accepted() -> None:
    story = _Waiting()
    story.cut()
    story.ends(Outcome.FAIL, ErrorClass.TRANSPORT)
    assert codes_of(story.judged()) == []


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
        return codes_of(trial(waits_for_exclusive_access, self.at(9_000).done()))


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
    assert codes_of(story.judged()) == []


def test_producer_that_fails_when_its_connection_ends_while_it_waits_is_accepted() -> None:
    story = _Waiting()
    story.cut(0)
    story.ends(Outcome.UNKNOWN, ErrorClass.TRANSPORT)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)
