"""The check of `ack.whole-batch-only`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from msgspec.structs import astuple
from tests.conformance.pulsar.ack._histories import Story

from assay_conformance.history.script import CONSUMER, entry_id
from assay_conformance.model.event import MessageId
from assay_conformance.pulsar.checks.ack.whole_batch_only import whole_batch_only


def test_batch_acked_when_last_message_is() -> None:
    story = Story(batch=True)
    story.ack(1, 2)
    story.after(150)
    story.ack(3)
    story.ack_frame(0)
    assert story.judged(whole_batch_only) == ([], 1)


def test_batch_acked_at_once_shows_nothing() -> None:
    story = Story(batch=True)
    story.ack(1, 2, 3)
    story.ack_frame(0)
    assert story.judged(whole_batch_only) == ([], 0)


@pytest.mark.parametrize("id", [entry_id(0), entry_id(0, 0, 3)])
def test_ack_of_half_settled_batch_is_found(id: MessageId) -> None:
    story = Story(batch=True)
    story.ack(1, 2)
    story.ack_frame(id)
    assert story.judged(whole_batch_only)[0] == ["acked-early"]


def test_ack_set_with_index_acks_off_is_found() -> None:
    story = Story(batch=True)
    story.ack(1)
    story.ack_frame(0, ack_sets=((0b110,),))
    assert story.judged(whole_batch_only)[0] == ["ack-set-sent"]


def test_report_of_damage_is_no_early_ack() -> None:
    story = Story(batch=True)
    story.ack_frame(0, fields={"validation_error": "ChecksumMismatch"})
    assert story.judged(whole_batch_only) == ([], 0)


def test_batch_that_is_never_acked_is_found() -> None:
    story = Story(batch=True)
    story.ack(1, 2, 3)
    story.after(300)
    story.close_consumer()
    story.close_frame()
    assert story.judged(whole_batch_only)[0] == ["never-acked"]


@pytest.mark.parametrize("entry", [0, 1])
def test_batch_that_a_cumulative_ack_covers_is_not_owed(entry: int) -> None:
    story = Story(batch=True)
    story.message(7, entry=1)
    story.received(7, entry=1)
    story.ack(1, 2, 3)
    story.ack(4, cumulative=True)
    story.ack_frame(entry, ack_type="Cumulative")
    story.after(300)
    story.close_consumer()
    story.close_frame()
    assert story.judged(whole_batch_only)[0] == []


def test_batch_that_came_twice_may_be_settled_in_neither_copy() -> None:
    story = Story(batch=True)
    story.message(0, 1, 2)
    for number in range(3):
        story.received(number, message_id=entry_id(0, number, 3))
    story.ack(1, 2, 6)
    story.after(300)
    story.close_consumer()
    story.close_frame()
    assert story.judged(whole_batch_only) == ([], 0)


def test_half_settled_batch_owes_nothing_at_close() -> None:
    story = Story(batch=True)
    story.ack(1, 2)
    story.after(300)
    story.close_consumer()
    story.close_frame()
    assert story.judged(whole_batch_only) == ([], 0)


def test_cumulative_ack_of_later_entry_settles_a_batch() -> None:
    story = Story(batch=True)
    story.message(7, entry=1)
    story.received(7, entry=1)
    story.ack(4, cumulative=True)
    story.ack_frame(0)
    assert story.judged(whole_batch_only)[0] == []


def test_what_a_seek_passes_over_may_be_acked() -> None:
    story = Story(batch=True)
    story.ack(3)
    story.invoke("seek", CONSUMER, args={"message_id": list(astuple(entry_id(0, 1, 3)))})
    story.ack_frame(0)
    assert story.judged(whole_batch_only)[0] == []


def test_what_is_behind_the_place_of_a_seek_may_not_be_acked() -> None:
    story = Story(batch=True)
    story.invoke("seek", CONSUMER, args={"message_id": list(astuple(entry_id(0, 1, 3)))})
    story.ack_frame(0)
    assert story.judged(whole_batch_only)[0] == ["acked-early"]
