"""The check of `topics.ownership-change-loses-nothing`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar.topics._moving import judged

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.case import Rate, Topic, Topology
from assay_conformance.model.event import Completion, Fate, Outcome, Sides
from assay_conformance.pulsar.checks.topics.ownership_change_loses_nothing import ownership_change_loses_nothing


def _sent(*numbers: int) -> Script:
    """A consumer is there, these messages are reported as sent, and then the broker sends the consumer away."""
    story = Script()
    story.consumer(conn=1)
    story.producer()
    for number in numbers:
        story.send(number)
        story.send_frame(number)
        story.stored(number)
        story.ok(number)
    story.down("CLOSE_CONSUMER", 1, consumer_id=0)
    story.subscribed(1)
    return story


def _in_vain(story: Script) -> None:
    receive = story.invoke("receive", CONSUMER, args={"count": 1})
    story.after(600)
    story.complete(receive, count=0)


def test_everything_arrives_in_order() -> None:
    story = _sent(0, 1)
    story.received(0)
    story.received(1)
    _in_vain(story)
    assert judged(ownership_change_loses_nothing, story) == ([], 1)


def test_message_that_comes_again_is_not_out_of_order() -> None:
    story = _sent(0, 1)
    for number in (0, 1, 0):
        story.received(number)
    _in_vain(story)
    assert judged(ownership_change_loses_nothing, story)[0] == []


def test_message_that_never_comes_is_found() -> None:
    story = _sent(0, 1)
    story.received(0)
    _in_vain(story)
    assert judged(ownership_change_loses_nothing, story)[0] == ["lost"]


def test_who_is_cut_off_meanwhile_has_its_time_to_come_back() -> None:
    story = _sent(0)
    receive = story.invoke("receive", CONSUMER, args={"count": 1})
    story.after(600)
    story.cut(1)
    story.complete(receive, count=0)
    assert judged(ownership_change_loses_nothing, story)[0] == []


def test_who_is_let_in_again_behind_its_last_receive_has_missed_nothing() -> None:
    story = _sent(0)
    story.down("CLOSE_CONSUMER", 1, consumer_id=0)
    _in_vain(story)
    story.subscribed(1)
    assert judged(ownership_change_loses_nothing, story)[0] == []


def test_consumer_that_was_never_let_in_misses_nothing() -> None:
    story = Script()
    opening = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})
    story.connected(1)
    story.up("SUBSCRIBE", 1, consumer_id=0, request_id=7, fields={"topic": story.full("t"), "subscription": "s"})
    story.down("ERROR", 1, request_id=7, fields={"error": "TopicTerminatedError"})
    story.complete(opening, Outcome.FAIL)
    story.producer()
    story.send(0)
    story.stored(0)
    story.ok(0)
    story.down("CLOSE_PRODUCER", producer_id=0)
    _in_vain(story)
    assert judged(ownership_change_loses_nothing, story)[0] == []


@pytest.mark.parametrize(("fate", "codes"), [(Fate.PASSED, ["lost"]), (Fate.DROPPED, [])])
def test_consumer_that_was_not_told_that_it_is_let_in_again_misses_nothing(fate: Fate, codes: list[str]) -> None:
    story = _sent(0, 1)
    story.down("CLOSE_CONSUMER", 1, consumer_id=0)
    story.up("SUBSCRIBE", 1, consumer_id=0, request_id=7, fields={"topic": story.full("t"), "subscription": "s"})
    story.down("SUCCESS", 1, request_id=7, fate=fate, sides=Sides.SENDER if fate is Fate.DROPPED else Sides.BOTH)
    _in_vain(story)
    assert judged(ownership_change_loses_nothing, story)[0] == codes


@pytest.mark.parametrize(("outcome", "codes"), [(Outcome.OK, ["lost"]), (Outcome.UNKNOWN, [])])
def test_consumer_whose_opening_was_given_up_misses_nothing(outcome: Outcome, codes: list[str]) -> None:
    story = _sent(0)
    story.events = [
        msgspec.structs.replace(event, outcome=outcome)
        if isinstance(event, Completion) and event.verb == "open_consumer"
        else event
        for event in story.events
    ]
    _in_vain(story)
    assert judged(ownership_change_loses_nothing, story)[0] == codes


def test_consumer_whose_topic_was_refused_for_good_misses_nothing() -> None:
    story = _sent(0, 1)
    story.up("LOOKUP", 1, request_id=9, fields={"topic": story.full("t")})
    story.down("LOOKUP_RESPONSE", 1, request_id=9, fields={"response": "Failed", "error": "NotAllowedError"})
    _in_vain(story)
    assert judged(ownership_change_loses_nothing, story)[0] == []


def test_what_is_on_its_way_when_a_receive_ends_is_not_lost() -> None:
    story = _sent(0, 1)
    receive = story.invoke("receive", CONSUMER, args={"count": 2})
    story.after(600)
    story.received(0)
    story.complete(receive, count=1)
    assert judged(ownership_change_loses_nothing, story)[0] == []


def test_what_is_dispatched_at_a_rate_comes_in_its_time() -> None:
    story = _sent(0)
    _in_vain(story)
    slow = msgspec.structs.replace(
        ANY_CASE, topology=Topology(topics=(Topic(name="t", dispatch_rate=Rate(messages=1)),))
    )
    assert trial(ownership_change_loses_nothing, story.done(), slow).findings == []


def test_message_that_was_not_waited_for_is_not_lost() -> None:
    story = _sent(0, 1)
    story.received(0)
    assert judged(ownership_change_loses_nothing, story)[0] == []


def test_messages_out_of_order_are_found() -> None:
    story = _sent(0, 1)
    story.received(1)
    story.received(0)
    assert judged(ownership_change_loses_nothing, story)[0] == ["reordered"]


def test_consumer_that_refused_a_message_is_not_judged() -> None:
    story = _sent(0, 1)
    story.invoke("nack", CONSUMER, args={"messages": [1]})
    story.received(1)
    story.received(0)
    assert judged(ownership_change_loses_nothing, story) == ([], 0)


def test_message_that_was_damaged_on_its_way_comes_later() -> None:
    story = _sent(0, 1)
    story.message(0, conn=1, intact=False)
    story.received(1)
    story.received(0)
    assert judged(ownership_change_loses_nothing, story) == ([], 0)


@pytest.mark.parametrize(("fate", "codes"), [(Fate.PASSED, ["lost"]), (Fate.DROPPED, [])])
def test_consumer_whose_permits_a_fault_took_waits_in_vain(fate: Fate, codes: list[str]) -> None:
    story = _sent(0)
    sides = Sides.SENDER if fate is Fate.DROPPED else Sides.BOTH
    story.up("FLOW", 1, consumer_id=0, permits=1, fate=fate, sides=sides)
    _in_vain(story)
    assert judged(ownership_change_loses_nothing, story)[0] == codes


@pytest.mark.parametrize(("fate", "codes"), [(Fate.PASSED, ["lost"]), (Fate.DROPPED, [])])
def test_consumer_whose_look_up_a_fault_took_may_wait_for_its_answer(fate: Fate, codes: list[str]) -> None:
    story = _sent(0)
    story.down("CLOSE_CONSUMER", 1, consumer_id=0)
    sides = Sides.SENDER if fate is Fate.DROPPED else Sides.BOTH
    story.up("LOOKUP", 1, request_id=9, fields={"topic": story.full("t")}, fate=fate, sides=sides)
    story.after(7_500)
    _in_vain(story)
    assert judged(ownership_change_loses_nothing, story)[0] == codes


@pytest.mark.parametrize(("rests_ms", "codes"), [(5_000, []), (7_500, ["lost"])])
def test_client_may_rest_before_it_comes_back(rests_ms: int, codes: list[str]) -> None:
    story = _sent(0)
    story.down("CLOSE_CONSUMER", 1, consumer_id=0)
    story.after(rests_ms)
    _in_vain(story)
    assert judged(ownership_change_loses_nothing, story)[0] == codes


@pytest.mark.parametrize(("seeks", "codes"), [(True, []), (False, ["lost"])])
def test_who_is_closed_for_a_seek_was_not_sent_away(seeks: bool, codes: list[str]) -> None:
    story = Script()
    story.consumer(conn=1)
    story.consumer(CONSUMER + 1, conn=2, subscription="other")
    story.producer()
    story.send(0)
    story.stored(0)
    story.ok(0)
    if seeks:
        story.up("SEEK", 2, consumer_id=0, request_id=9)
    story.down("CLOSE_CONSUMER", 2, consumer_id=0)
    _in_vain(story)
    assert judged(ownership_change_loses_nothing, story)[0] == codes
