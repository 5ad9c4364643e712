"""The check of `ack.cumulative-keeps-greatest`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming
from tests.conformance.pulsar.ack._histories import Story

from assay_conformance.model.event import MessageId
from assay_conformance.pulsar.checks.ack.cumulative_keeps_greatest import cumulative_keeps_greatest


def test_greatest_cumulative_ack_alone_is_sent() -> None:
    story = Story(10)
    story.ack(6, 10, 8, cumulative=True)
    story.after(50)
    story.ack_frame(9, ack_type="Cumulative")
    assert story.judged(cumulative_keeps_greatest) == ([], 1)


def test_flush_between_cumulative_acks_is_allowed() -> None:
    story = Story(10)
    story.ack(6, cumulative=True)
    story.ack_frame(5, ack_type="Cumulative")
    story.ack(10, cumulative=True)
    story.ack(8, cumulative=True)
    story.after(90)
    story.ack_frame(9, ack_type="Cumulative")
    assert story.judged(cumulative_keeps_greatest) == ([], 1)


def test_smaller_cumulative_ack_behind_greater_is_found() -> None:
    story = Story(10)
    story.ack(6, 10, 8, cumulative=True)
    story.after(50)
    story.ack_frame(7, ack_type="Cumulative")
    assert story.judged(cumulative_keeps_greatest)[0] == ["smaller-sent"]


def test_two_cumulative_acks_in_one_flush_are_found() -> None:
    story = Story(10)
    story.ack(6, 10, cumulative=True)
    story.ack_frame(5, ack_type="Cumulative")
    story.ack_frame(9, ack_type="Cumulative")
    assert story.judged(cumulative_keeps_greatest)[0] == ["not-merged"]


def test_greatest_cumulative_ack_never_sent_is_found() -> None:
    story = Story(10)
    story.ack(6, 10, cumulative=True)
    story.ack_frame(5, ack_type="Cumulative")
    story.after(300)
    story.close_consumer()
    story.close_frame()
    assert story.judged(cumulative_keeps_greatest)[0] == ["greatest-never-sent"]


def test_cumulative_ack_inside_a_batch_is_not_judged() -> None:
    story = Story(4, batch=True)
    story.ack(3, 2, cumulative=True)
    story.ack_frame(MessageId(1, -1), ack_type="Cumulative")
    assert story.judged(cumulative_keeps_greatest) == ([], 0)


def test_cumulative_ack_that_goes_no_further_than_before_the_outage_is_not_owed() -> None:
    story = Consuming("Exclusive")
    story.gets(0, 1)
    story.ack(2, cumulative=True)
    story.cumulative_frame(1)
    story.cut()
    story.again(kind="Exclusive")
    story.message(1, conn=1)
    story.received(1)
    story.ack(3, cumulative=True)
    story.after(300)
    story.close_consumer(conn=1)
    assert story.judged(cumulative_keeps_greatest) == ([], 0)


@pytest.mark.parametrize("constants", [{"ack_group_ms": 0}, {"ack_group_max": 1}, {"ack_receipt": True}], ids=str)
def test_client_without_groups_sends_a_smaller_cumulative_ack_too(constants: dict[str, int]) -> None:
    story = Consuming("Exclusive", **constants)
    story.gets(0, 1)
    for delivery, entry in ((2, 1), (1, 0)):
        story.ack(delivery, cumulative=True)
        story.cumulative_frame(entry)
    assert story.judged(cumulative_keeps_greatest) == ([], 0)
