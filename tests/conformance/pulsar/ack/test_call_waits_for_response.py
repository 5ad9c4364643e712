"""The check of `ack.call-waits-for-response`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.ack._receipts import Awaiting, OnTwoBrokers

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import MessageId, Outcome
from assay_conformance.pulsar.checks.ack.call_waits_for_response import call_waits_for_response


def test_call_that_ends_with_its_answer() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer()
    story.complete(invoke)
    assert story.judged(call_waits_for_response) == ([], 1)


def test_call_that_ends_before_its_answer_is_found() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.complete(invoke)
    story.answer()
    assert story.judged(call_waits_for_response)[0] == ["ended-without-answer"]


def test_call_may_name_what_came_by_way_of_a_retry_letter_topic() -> None:
    """It was acknowledged there when its letter had its receipt."""
    story = Awaiting()
    story.received(7, topic=f"{story.full('t')}-s-RETRY", message_id=MessageId(9, 0, -1, -1, 0))
    story.complete(story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [2]}))
    assert story.judged(call_waits_for_response) == ([], 0)


def test_call_that_ends_without_any_ack_is_found() -> None:
    story = Awaiting()
    story.complete(story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1]}))
    assert story.judged(call_waits_for_response)[0] == ["ended-without-answer"]


def test_call_that_outlives_its_answer_is_found() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer()
    story.after(1_000)
    story.overdue(invoke)
    assert story.judged(call_waits_for_response)[0] == ["not-ended"]


def test_call_that_is_given_up_long_behind_its_answer_is_found() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer()
    story.after(1_000)
    story.complete(invoke, Outcome.UNKNOWN)
    assert story.judged(call_waits_for_response)[0] == ["not-ended"]


def test_call_whose_entry_is_named_again_without_an_answer_may_be_given_up() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer()
    story.asks()
    story.after(1_000)
    story.complete(invoke, Outcome.UNKNOWN)
    assert story.judged(call_waits_for_response)[0] == []


def test_call_whose_own_answer_is_lost_may_be_given_up_though_a_later_ack_covers_its_entry() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.ack_frame(0, request_id=51)
    story.down("ACK_RESPONSE", consumer_id=0, request_id=51)
    story.after(1_000)
    story.complete(invoke, Outcome.UNKNOWN)
    assert story.judged(call_waits_for_response)[0] == []


def test_consumer_that_is_closed_behind_the_deadline_was_late_all_the_same() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer()
    story.after(1_000)
    story.overdue(invoke)
    story.close_consumer()
    assert story.judged(call_waits_for_response)[0] == ["not-ended"]


def test_answer_that_comes_behind_the_end_of_a_call_was_late() -> None:
    """The bench hears of the end long after the agent did."""
    story = Awaiting()
    invoke = story.asks()
    done_ns = story.after(1_000).now_ns
    story.answer()
    story.after(700)
    story.complete(invoke, Outcome.UNKNOWN, done_ns=done_ns)
    assert story.judged(call_waits_for_response)[0] == []


def test_call_that_also_names_what_came_from_an_unknown_place_may_wait_for_that() -> None:
    """Its ACK may be another consumer's, and without an answer."""
    story = Awaiting()
    invoke = story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1, 2]})
    story.ack_frame(0, request_id=50)
    story.answer()
    story.after(1_000)
    story.complete(invoke, Outcome.UNKNOWN)
    assert story.judged(call_waits_for_response)[0] == []


def test_old_broker_owes_no_answer() -> None:
    story = Awaiting(version=16)
    story.complete(story.asks())
    assert story.judged(call_waits_for_response) == ([], 0)


def test_call_over_a_topic_whose_broker_answers_no_ack_ends_without_its_answer() -> None:
    story = OnTwoBrokers(21, 16)
    story.complete(story.acks_both())
    assert story.judged(call_waits_for_response) == []
