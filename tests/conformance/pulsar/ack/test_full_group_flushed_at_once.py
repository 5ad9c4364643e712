"""The check of `ack.full-group-flushed-at-once`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.ack._urgent import grouped

from assay_conformance.pulsar.checks.ack.full_group_flushed_at_once import full_group_flushed_at_once


def test_full_group_that_leaves_at_once_is_right() -> None:
    story = grouped()
    story.ack(1, 2, 3)
    story.ack_frame(0, 1, 2)
    assert story.judged(full_group_flushed_at_once) == ([], 1)


def test_full_group_may_leave_before_its_call_completes() -> None:
    story = grouped()
    invoke = story.invoke("ack", 2, args={"consumer": 2, "messages": [1, 2, 3, 4]})
    story.ack_frame(0, 1, 2)
    story.complete(invoke)
    story.after(90)
    story.ack_frame(3)
    assert story.judged(full_group_flushed_at_once) == ([], 1)


def test_full_group_that_waits_for_its_interval_is_found() -> None:
    story = grouped()
    story.ack(1, 2, 3)
    story.after(95)
    story.ack_frame(0, 1, 2)
    assert story.judged(full_group_flushed_at_once)[0] == ["full-group-waited"]


def test_full_group_that_never_leaves_is_found() -> None:
    story = grouped()
    story.ack(1, 2, 3)
    story.after(95)
    story.close_consumer()
    assert story.judged(full_group_flushed_at_once)[0] == ["full-group-waited"]


def test_part_of_a_group_may_wait() -> None:
    story = grouped()
    story.ack(1, 2)
    story.after(95)
    story.ack_frame(0, 1)
    assert story.judged(full_group_flushed_at_once) == ([], 0)
