"""Acks that wait for no interval: a full group, and clients without one."""

from __future__ import annotations

from typing import Any

from tests.conformance.checks.consuming import Consuming

from assay_conformance.checks.ack import AtOnceWithoutInterval, FullGroupAtOnce


def grouped(**constants: Any) -> Consuming:
    story = Consuming(ack_group_max=3, **constants)
    story.gets(0, 1, 2, 3)
    return story


# --- ack.full-group-flushed-at-once ---


def test_full_group_that_leaves_at_once_is_right() -> None:
    story = grouped()
    story.ack(1, 2, 3)
    story.ack_frame(0, 1, 2)
    assert story.judged(FullGroupAtOnce) == ([], 1)


def test_full_group_may_leave_before_its_call_completes() -> None:
    story = grouped()
    invoke = story.invoke("ack", 2, args={"consumer": 2, "messages": [1, 2, 3, 4]})
    story.ack_frame(0, 1, 2)
    story.complete(invoke)
    story.after(90)
    story.ack_frame(3)
    assert story.judged(FullGroupAtOnce) == ([], 1)


def test_full_group_that_waits_for_its_interval_is_found() -> None:
    story = grouped()
    story.ack(1, 2, 3)
    story.after(95)
    story.ack_frame(0, 1, 2)
    assert story.judged(FullGroupAtOnce)[0] == ["full-group-waited"]


def test_full_group_that_never_leaves_is_found() -> None:
    story = grouped()
    story.ack(1, 2, 3)
    story.after(95)
    story.close_consumer()
    assert story.judged(FullGroupAtOnce)[0] == ["full-group-waited"]


def test_part_of_a_group_may_wait() -> None:
    story = grouped()
    story.ack(1, 2)
    story.after(95)
    story.ack_frame(0, 1)
    assert story.judged(FullGroupAtOnce) == ([], 0)


# --- ack.zero-group-time-is-immediate ---


def test_ack_without_interval_leaves_at_once() -> None:
    story = grouped(ack_group_ms=0)
    story.ack(1)
    story.ack_frame(0)
    story.ack(3, cumulative=True)
    story.cumulative_frame(2)
    assert story.judged(AtOnceWithoutInterval) == ([], 2)


def test_ack_without_interval_that_waits_is_found() -> None:
    story = grouped(ack_group_ms=0)
    story.ack(1)
    story.after(95)
    story.ack_frame(0)
    assert story.judged(AtOnceWithoutInterval)[0] == ["waited"]


def test_ack_without_interval_that_is_never_sent_is_found() -> None:
    story = grouped(ack_group_ms=0)
    story.ack(1)
    story.after(95)
    story.close_consumer()
    assert story.judged(AtOnceWithoutInterval)[0] == ["never-sent"]


def test_cumulative_ack_that_goes_no_further_need_not_be_sent() -> None:
    story = grouped(ack_group_ms=0)
    story.ack(2, cumulative=True)
    story.cumulative_frame(1)
    story.ack(2, cumulative=True)
    story.after(95)
    story.close_consumer()
    assert story.judged(AtOnceWithoutInterval) == ([], 1)


def test_client_with_an_interval_is_not_judged() -> None:
    story = grouped()
    story.ack(1)
    story.after(95)
    story.ack_frame(0)
    assert story.judged(AtOnceWithoutInterval) == ([], 0)
