"""The check of `ack.full-group-flushed-at-once`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar._consuming import Consuming
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


def parts_of_batches(**constants: Any) -> tuple[list[str], int]:
    """A message and parts of two batches fill a group, which leaves late."""
    story = Consuming(ack_group_max=3, **constants)
    story.gets(0)
    story.gets_batch(1, 2)
    story.gets_batch(2, 2)
    story.ack(1, 2, 4)
    story.after(95)
    story.ack_frame(0, 1, 2, ack_sets=((), (2,), (2,)))
    return story.judged(full_group_flushed_at_once)


def test_group_of_parts_of_batches_that_waits_is_found_where_parts_are_acknowledged() -> None:
    assert parts_of_batches(batch_index_ack=True)[0] == ["full-group-waited"]
    assert parts_of_batches(batch_index_ack=False) == ([], 0)
