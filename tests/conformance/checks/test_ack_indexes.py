"""Acks inside batches: the bits of an ack_set, what it filters, and cumulative acks that stop inside."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.checks.consuming import Consuming

from assay_conformance.checks.ack import FilteredNotDelivered, IndexBits, InsideBatch, NoneOnShared
from assay_conformance.model.event import Outcome


def by_index() -> Consuming:
    story = Consuming(batch_index_ack=True)
    story.gets_batch(0, 4)
    return story


# --- ack.batch-index-ack-set ---


def test_ack_set_with_the_open_bits_is_right() -> None:
    story = by_index()
    story.ack(1, 3)
    story.after(90)
    story.ack_frame(0, ack_sets=((0b1010,),))
    assert story.judged(IndexBits) == ([], 1)


def test_bit_that_an_earlier_ack_cleared_may_be_set_in_the_next() -> None:
    """As in that of an older delivery, which knows nothing of what became of the newer one."""
    story = by_index()
    story.ack(1, 3)
    story.after(90)
    story.ack_frame(0, ack_sets=((0b1010,),))
    story.ack(2)
    story.after(290)
    story.ack_frame(0, ack_sets=((0b1101,),))
    assert story.judged(IndexBits)[0] == []


def test_whole_batch_without_ack_set_is_right() -> None:
    story = by_index()
    story.ack(1, 2, 3, 4)
    story.after(90)
    story.ack_frame(0)
    assert story.judged(IndexBits) == ([], 1)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("open-message-acked", (0b1000,)),
        ("open-message-acked", (0b0101,)),
        ("open-message-acked", ()),
        ("acked-message-open", (0b1011,)),
    ],
)
def test_ack_set_with_other_bits_is_found(code: str, words: tuple[int, ...]) -> None:
    story = by_index()
    story.ack(1, 3)
    story.after(250)
    story.ack_frame(0, ack_sets=(words,))
    assert story.judged(IndexBits)[0] == [code]


def test_ack_set_without_any_bit_is_found() -> None:
    story = by_index()
    story.ack(1, 2, 3, 4)
    story.ack_frame(0, ack_sets=((0,),))
    assert story.judged(IndexBits)[0] == ["ack-set-of-nothing"]


def up_to_second() -> Consuming:
    """The application has settled messages 0 and 1 of four at once, long ago."""
    story = Consuming(kind="Exclusive", batch_index_ack=True)
    story.gets_batch(0, 4)
    story.ack(2, cumulative=True)
    story.after(250)
    return story


def test_cumulative_ack_set_without_the_bits_up_to_its_message_is_right() -> None:
    story = up_to_second()
    story.cumulative_frame(0, ack_sets=((0b1100,),))
    assert story.judged(IndexBits) == ([], 1)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("acked-message-open", (0b1101,)),
        ("acked-message-open", (0b1111,)),
        ("open-message-acked", (0b1000,)),
        ("open-message-acked", ()),
    ],
)
def test_cumulative_ack_set_with_other_bits_is_found(code: str, words: tuple[int, ...]) -> None:
    story = up_to_second()
    story.cumulative_frame(0, ack_sets=(words,))
    assert story.judged(IndexBits)[0] == [code]


def test_cumulative_ack_inside_a_batch_that_never_leaves_is_found() -> None:
    story = up_to_second()
    story.close_consumer()
    assert story.judged(IndexBits)[0] == ["never-acked"]


def test_cumulative_ack_of_a_later_entry_settles_the_batch() -> None:
    story = up_to_second()
    story.gets(1)
    story.ack(5, cumulative=True)
    story.cumulative_frame(1)
    story.after(250)
    story.close_consumer()
    assert story.judged(IndexBits)[0] == []


def test_message_acked_just_now_may_still_be_open() -> None:
    story = by_index()
    story.ack(1)
    story.after(90)
    story.ack(2)
    story.ack_frame(0, ack_sets=((0b1110,),))
    assert story.judged(IndexBits) == ([], 1)


def test_message_that_is_never_acked_by_index_is_found() -> None:
    story = by_index()
    story.ack(1)
    story.after(250)
    story.close_consumer()
    assert story.judged(IndexBits)[0] == ["never-acked"]


def test_batch_that_comes_again_begins_anew() -> None:
    story = by_index()
    story.ack(1)
    story.gets_batch(0, 4)
    story.ack(6)
    story.after(250)
    story.ack_frame(0, ack_sets=((0b1101,),))
    assert story.judged(IndexBits) == ([], 1)


def test_of_two_copies_the_client_may_leave_the_other_ones_message_open() -> None:
    story = Consuming(batch_index_ack=True)
    for _ in range(2):
        story.message(0, 1, entry=0, batch=True)
    for index in (0, 1, 0, 1):
        story.member(0, index, 2)
    story.ack(3)
    story.after(250)
    story.ack(2)
    story.ack_frame(0, ack_sets=((0b01,),))
    assert story.judged(IndexBits)[0] == []


# --- ack.ack-set-filters-delivery ---


def test_filtered_messages_that_stay_away_are_right() -> None:
    story = by_index()
    story.gets_batch(0, 4, ack_set=(0b1010,), only=(1, 3))
    assert story.judged(FilteredNotDelivered) == ([], 2)


def test_filtered_message_that_is_delivered_is_found() -> None:
    story = by_index()
    story.gets_batch(0, 4, ack_set=(0b1010,), only=(0,))
    assert story.judged(FilteredNotDelivered)[0] == ["filtered-delivered"]


def test_copy_that_came_before_is_delivered_rightly() -> None:
    story = Consuming(batch_index_ack=True)
    story.message(0, 1, entry=0, batch=True)
    story.message(0, 1, entry=0, batch=True, ack_sets=((0b10,),))
    story.member(0, 0, 2)
    assert story.judged(FilteredNotDelivered) == ([], 0)


# --- ack.cumulative-inside-batch ---


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
    assert story.judged(InsideBatch) == ([], 1)


def test_whole_entry_is_acked_with_its_last_message() -> None:
    story = inside()
    story.ack(4, cumulative=True)
    story.cumulative_frame(1)
    assert story.judged(InsideBatch) == ([], 1)


def test_whole_entry_acked_early_is_found() -> None:
    story = inside()
    story.cumulative_frame(1)
    assert story.judged(InsideBatch)[0] == ["whole-entry-acked"]


def test_entry_before_that_is_never_acked_is_found() -> None:
    story = inside()
    story.after(250)
    story.close_consumer()
    assert story.judged(InsideBatch)[0] == ["entry-before-not-acked"]


def test_entry_before_acked_with_the_batch_much_later_is_found() -> None:
    story = inside()
    story.after(250)
    story.ack(4, cumulative=True)
    story.cumulative_frame(1)
    assert story.judged(InsideBatch)[0] == ["entry-before-not-acked"]


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
    assert story.judged(InsideBatch) == ([], 1)


def test_who_sends_each_at_once_acks_the_entry_before_at_once() -> None:
    story = sends_each_at_once(inside())
    story.after(250)
    story.close_consumer()
    assert story.judged(InsideBatch)[0] == ["entry-before-not-acked"]


def test_entry_before_acked_twice_is_found() -> None:
    story = inside()
    story.cumulative_frame(0)
    story.ack(3, cumulative=True)
    story.cumulative_frame(0)
    assert story.judged(InsideBatch)[0] == ["sent-again"]


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
    assert story.judged(InsideBatch) == ([], 0)


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
    assert story.judged(InsideBatch)[0] == []


def test_first_entry_has_none_before_it() -> None:
    story = Consuming("Exclusive")
    story.gets_batch(0, 3)
    story.ack(2, cumulative=True)
    story.after(250)
    story.close_consumer()
    assert story.judged(InsideBatch) == ([], 0)


def test_batch_is_acked_as_the_entry_before_another() -> None:
    story = Consuming("Exclusive")
    story.gets_batch(0, 2)
    story.gets_batch(1, 2)
    story.ack(1, cumulative=True)
    story.ack(3, cumulative=True)
    story.cumulative_frame(0)
    assert story.judged(InsideBatch) == ([], 1)


# --- ack.no-cumulative-on-shared ---


@pytest.mark.parametrize("kind", ["Shared", "Key_Shared"])
def test_refusal_on_a_shared_subscription_is_right(kind: str) -> None:
    story = Consuming(kind)
    story.gets(0)
    story.ack(1, cumulative=True, outcome=Outcome.FAIL)
    assert story.judged(NoneOnShared) == ([], 1)


def test_cumulative_ack_that_is_taken_and_sent_is_found() -> None:
    story = Consuming("Key_Shared")
    story.gets(0)
    story.ack(1, cumulative=True)
    story.cumulative_frame(0)
    assert story.judged(NoneOnShared)[0] == ["accepted", "sent"]


def test_cumulative_ack_on_failover_is_none_of_this() -> None:
    story = Consuming("Failover")
    story.gets(0)
    story.ack(1, cumulative=True)
    story.cumulative_frame(0)
    assert story.judged(NoneOnShared) == ([], 0)
