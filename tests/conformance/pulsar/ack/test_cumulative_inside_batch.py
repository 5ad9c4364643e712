"""The check of `ack.cumulative-inside-batch`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.pulsar.checks.ack.cumulative_inside_batch import cumulative_inside_batch


def inside() -> Consuming:
    """Message 1 alone, then a batch of three as entry 1; the application has reached the batch's second message."""
    story = Consuming("Exclusive")
    story.gets(0)
    story.gets_batch(1, 3)
    story.ack(3, cumulative=True)
    return story


def test_entry_before_is_acked() -> None:
    story = inside()
    story.after(90)
    story.cumulative_frame(0)
    assert story.judged(cumulative_inside_batch) == ([], 1)


def test_whole_entry_is_acked_with_its_last_message() -> None:
    story = inside()
    story.ack(4, cumulative=True)
    story.cumulative_frame(1)
    assert story.judged(cumulative_inside_batch) == ([], 1)


def test_whole_entry_acked_early_is_found() -> None:
    story = inside()
    story.cumulative_frame(1)
    assert story.judged(cumulative_inside_batch)[0] == ["whole-entry-acked"]


def test_entry_before_that_is_never_acked_is_found() -> None:
    story = inside()
    story.after(250)
    story.close_consumer()
    assert story.judged(cumulative_inside_batch)[0] == ["entry-before-not-acked"]


def test_entry_before_acked_with_the_batch_much_later_is_found() -> None:
    story = inside()
    story.after(250)
    story.ack(4, cumulative=True)
    story.cumulative_frame(1)
    assert story.judged(cumulative_inside_batch)[0] == ["entry-before-not-acked"]


def sends_each_at_once(story: Consuming) -> Consuming:
    """Its client knows no groups, and declares no interval."""
    fixed = {key: value for key, value in story.facts.fixed.items() if not key.startswith("ack_group")}
    story.facts = msgspec.structs.replace(story.facts, fixed=fixed)
    return story


def test_who_sends_each_at_once_may_ack_the_entry_before_twice() -> None:
    story = sends_each_at_once(inside())
    story.cumulative_frame(0)
    story.ack(3, cumulative=True)
    story.cumulative_frame(0)
    assert story.judged(cumulative_inside_batch) == ([], 1)


def test_who_sends_each_at_once_acks_the_entry_before_at_once() -> None:
    story = sends_each_at_once(inside())
    story.after(250)
    story.close_consumer()
    assert story.judged(cumulative_inside_batch)[0] == ["entry-before-not-acked"]


def test_entry_before_acked_twice_is_found() -> None:
    story = inside()
    story.cumulative_frame(0)
    story.ack(3, cumulative=True)
    story.cumulative_frame(0)
    assert story.judged(cumulative_inside_batch)[0] == ["sent-again"]


def test_entry_before_that_was_reached_on_a_lost_connection_is_not_owed() -> None:
    story = Consuming("Exclusive")
    story.gets(0)
    story.ack(1, cumulative=True)
    story.cut()
    story.again(kind="Exclusive")
    story.message(0, conn=1)
    story.message(1, 2, 3, entry=1, conn=1)
    story.member(1, 0, 3)
    story.ack(2, cumulative=True)
    story.after(250)
    story.close_consumer(conn=1)
    assert story.judged(cumulative_inside_batch) == ([], 0)


def test_batch_may_be_settled_by_calls_about_its_earlier_delivery() -> None:
    story = Consuming("Exclusive")
    story.gets_batch(0, 2)
    story.cut()
    story.again(kind="Exclusive")
    story.message(0, 1, entry=0, conn=1, batch=True)
    story.member(0, 0, 2)
    story.ack(3, cumulative=True)
    story.ack(2, cumulative=True)
    story.cumulative_frame(0, conn=1)
    assert story.judged(cumulative_inside_batch)[0] == []


def test_first_entry_has_none_before_it() -> None:
    story = Consuming("Exclusive")
    story.gets_batch(0, 3)
    story.ack(2, cumulative=True)
    story.after(250)
    story.close_consumer()
    assert story.judged(cumulative_inside_batch) == ([], 0)


def test_batch_is_acked_as_the_entry_before_another() -> None:
    story = Consuming("Exclusive")
    story.gets_batch(0, 2)
    story.gets_batch(1, 2)
    story.ack(1, cumulative=True)
    story.ack(3, cumulative=True)
    story.cumulative_frame(0)
    assert story.judged(cumulative_inside_batch) == ([], 1)
