"""The check of `connection.reconnects-while-opening`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.connection._opening import Opening, asking, not_ready

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import ClosedBy, ErrorClass, Outcome
from assay_conformance.pulsar.checks.connection.reconnects_while_opening import reconnects_while_opening
from assay_conformance.pulsar.checks.connection.retries_service_not_ready import retries_service_not_ready

CLIENT = 7


def test_consumer_that_asks_again_is_accepted() -> None:
    story = not_ready()
    story.asks(8)
    story.down("SUCCESS", request_id=8)
    story.complete(story.asked)
    assert story.judged() == ([], 1)


def test_consumer_that_is_handed_out_unadmitted_is_found() -> None:
    story = not_ready()
    story.complete(story.asked)
    assert story.judged()[0] == ["gave-up"]
    assert story.judged(reconnects_while_opening) == ([], 0)


def test_opening_that_fails_when_its_next_pause_would_not_fit_is_accepted() -> None:
    story = not_ready()
    story.after(100)
    story.asks(8)
    story.at(16_000)
    story.is_not_ready(8)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert story.judged(reconnects_while_opening) == ([], 1)


def test_opening_that_fails_over_a_lost_connection_is_found() -> None:
    story = Opening()
    story.opened(1)
    story.cut(1, ClosedBy.FAULT)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TRANSPORT)
    assert story.judged(reconnects_while_opening)[0] == ["gave-up"]
    assert story.judged(retries_service_not_ready) == ([], 0)


def test_opening_that_waits_for_its_time_out_without_another_attempt_is_found() -> None:
    story = not_ready()
    story.at(30_000)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert story.judged()[0] == ["waited-in-vain"]


def test_opening_may_fail_when_its_time_is_almost_over() -> None:
    story = Opening()
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
    assert trial(reconnects_while_opening, story.done()).findings == []


def test_opening_that_its_application_ends_gives_nothing_up() -> None:
    story = not_ready()
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.CLOSED)
    assert story.judged() == ([], 0)


def test_what_was_registered_and_went_with_its_connection_sets_nothing_back() -> None:
    story = asking()
    story.down("SUCCESS", request_id=7)
    story.cut()
    story.connected(1)
    story.asks(8, conn=1)
    story.down("ERROR", 1, request_id=8, fields={"error": "ServiceNotReady"})
    story.complete(story.asked)
    assert story.judged() == ([], 0)


def test_opening_that_asks_again_behind_its_time_is_found() -> None:
    story = not_ready()
    story.at(32_000)
    story.asks(8)
    assert story.judged(reconnects_while_opening)[0] == ["went-on"]
    assert story.judged(retries_service_not_ready)[0] == []


def test_opening_that_failed_in_its_time_behind_several_attempts_is_accepted() -> None:
    story = not_ready()
    story.at(29_500)
    story.asks(8)
    story.is_not_ready(8)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert story.judged(reconnects_while_opening) == ([], 1)


def test_opening_that_ends_well_had_no_need_of_a_connection_that_was_lost_beside_it() -> None:
    story = Opening()
    story.opened(1)
    story.cut(1, ClosedBy.FAULT)
    story.complete(story.asked)
    assert story.judged(reconnects_while_opening)[0] == []


def test_opening_that_is_refused_one_of_its_partitions_need_not_wait_for_another() -> None:
    story = Opening()
    story.connected()
    story.connected(1)
    story.asks(topic="t-partition-0")
    story.asks(8, conn=1, topic="t-partition-1")
    story.is_refused()
    story.cut(1, ClosedBy.FAULT)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.OTHER)
    assert story.judged(reconnects_while_opening) == ([], 0)


def test_opening_that_asks_again_where_it_was_refused_waits_for_the_others_too() -> None:
    story = Opening()
    story.connected()
    story.connected(1)
    story.asks(topic="t-partition-0")
    story.is_refused()
    story.asks(8, topic="t-partition-0")
    story.asks(9, conn=1, topic="t-partition-1")
    story.cut(1, ClosedBy.FAULT)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.OTHER)
    assert story.judged(reconnects_while_opening)[0] == ["gave-up"]


def test_opening_that_is_reported_as_done_is_not_excused_by_a_refusal() -> None:
    story = Opening()
    story.connected()
    story.connected(1)
    story.asks(topic="t-partition-0")
    story.asks(8, conn=1, topic="t-partition-1")
    story.is_refused()
    story.cut(1, ClosedBy.FAULT)
    story.complete(story.asked)
    assert story.judged(reconnects_while_opening)[0] == ["gave-up"]


def test_opening_that_looked_a_partition_up_in_vain_need_not_wait_for_another() -> None:
    story = Opening()
    story.connected()
    story.connected(1)
    story.asks(conn=1, topic="t-partition-1")
    story.up("LOOKUP", request_id=8, fields={"topic": story.full("t-partition-0")})
    story.down("LOOKUP_RESPONSE", request_id=8, fields={"response": "Failed", "error": "AuthorizationError"})
    story.cut(1, ClosedBy.FAULT)
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.OTHER)
    assert story.judged(reconnects_while_opening) == ([], 0)


def _partition_refused_beside_another(looked_up: int) -> Opening:
    """A lookup of partition 0 is refused, this partition is looked up, and a third one meets a broker not ready."""
    story = Opening()
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


def test_failure_that_comes_while_the_word_of_the_end_is_on_its_way_is_none() -> None:
    story = asking()
    done_ns = story.now_ns
    story.after(5)
    story.is_not_ready()
    story.after(70).complete(story.asked, Outcome.FAIL, error=ErrorClass.OTHER, done_ns=done_ns)
    assert story.judged()[0] == []
