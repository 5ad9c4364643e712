"""The check of `ack.zero-group-time-is-immediate`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.ack._urgent import grouped

from assay_conformance.pulsar.checks.ack.zero_group_time_is_immediate import zero_group_time_is_immediate


def test_ack_without_interval_leaves_at_once() -> None:
    story = grouped(ack_group_ms=0)
    story.ack(1)
    story.ack_frame(0)
    story.ack(3, cumulative=True)
    story.cumulative_frame(2)
    assert story.judged(zero_group_time_is_immediate) == ([], 2)


def test_ack_without_interval_that_waits_is_found() -> None:
    story = grouped(ack_group_ms=0)
    story.ack(1)
    story.after(95)
    story.ack_frame(0)
    assert story.judged(zero_group_time_is_immediate)[0] == ["waited"]


def test_ack_without_interval_that_is_never_sent_is_found() -> None:
    story = grouped(ack_group_ms=0)
    story.ack(1)
    story.after(95)
    story.close_consumer()
    assert story.judged(zero_group_time_is_immediate)[0] == ["never-sent"]


def test_cumulative_ack_that_goes_no_further_need_not_be_sent() -> None:
    story = grouped(ack_group_ms=0)
    story.ack(2, cumulative=True)
    story.cumulative_frame(1)
    story.ack(2, cumulative=True)
    story.after(95)
    story.close_consumer()
    assert story.judged(zero_group_time_is_immediate) == ([], 1)


def test_cumulative_ack_before_one_inside_a_batch_need_not_be_sent() -> None:
    story = grouped(ack_group_ms=0)
    story.gets_batch(9, 3)
    story.ack(6, cumulative=True)
    story.cumulative_frame(9)
    story.ack(2, cumulative=True)
    story.after(95)
    story.close_consumer()
    assert story.judged(zero_group_time_is_immediate) == ([], 0)


def test_client_with_an_interval_is_not_judged() -> None:
    story = grouped()
    story.ack(1)
    story.after(95)
    story.ack_frame(0)
    assert story.judged(zero_group_time_is_immediate) == ([], 0)
