"""Whether a batch leaves behind what had come."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar.batch_receive.batches import TIMEOUT_MS, Batches

from assay_conformance.history.script import CONSUMER, MESSAGE_BYTES
from assay_conformance.pulsar.checks.batch_receive.takes_what_is_there import takes_what_is_there


def waited(count: int, came: int, *, closed: bool = False, limits: dict[str, int] | None = None, **message: Any) -> Any:
    """A batch receive whose time is over, when `came` messages had come."""
    story = Batches(**(limits or {}))
    call = story.called()
    for number in range(came):
        story.message(number, **message)
    story.after(TIMEOUT_MS)
    if closed:
        story.invoke("close", CONSUMER)
    story.ended(call, *range(count))
    return story.judged(takes_what_is_there)


def test_batch_of_all_that_came_is_accepted() -> None:
    assert waited(3, 3) == ([], 1)


def test_message_that_is_left_behind_is_found() -> None:
    assert waited(2, 3) == (["left-behind"], 0)


def test_batch_leaves_the_second_copy_of_a_message() -> None:
    story = Batches()
    call = story.called()
    story.message(0)
    story.message(0)
    story.after(TIMEOUT_MS)
    story.ended(call, 0)
    assert story.judged(takes_what_is_there) == ([], 1)


def test_full_batch_may_leave_some() -> None:
    assert waited(2, 3, limits={"max_messages": 2}) == ([], 1)
    assert waited(2, 3, limits={"max_bytes": 2 * MESSAGE_BYTES}) == ([], 1)


def test_damaged_message_may_be_left() -> None:
    assert waited(0, 1, intact=False) == ([], 0)


def test_batch_that_a_close_ends_may_leave_all() -> None:
    assert waited(0, 3, closed=True) == ([], 0)
