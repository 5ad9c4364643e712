"""Whether batches keep their limits of number and bytes."""

from __future__ import annotations

from tests.conformance.pulsar.batch_receive.batches import Batches

from assay_conformance.pulsar.checks.batch_receive.within_limits import within_limits


def batch(count: int, size: int = 10, **limits: int) -> tuple[list[str], int]:
    story = Batches(**limits)
    story.ended(story.called(), *range(count), size=size)
    return story.judged(within_limits)


def test_batch_of_as_many_messages_as_allowed_is_accepted() -> None:
    assert batch(3, max_messages=3) == ([], 1)


def test_batch_of_one_message_too_many_is_found() -> None:
    assert batch(4, max_messages=3) == (["too-many-messages"], 0)


def test_batch_of_too_many_bytes_is_found() -> None:
    assert batch(2, max_bytes=20) == ([], 1)
    assert batch(3, max_bytes=20) == (["too-many-bytes"], 0)


def test_one_message_may_be_larger_than_a_batch() -> None:
    assert batch(1, size=50, max_bytes=20) == ([], 1)


def test_only_the_messages_of_the_batch_itself_count() -> None:
    story = Batches(max_messages=2)
    story.ended(story.called(), 0, 1)
    story.received(2)
    story.ended(story.called(), 3, 4)
    assert story.judged(within_limits) == ([], 2)


def test_batch_without_limits_says_nothing() -> None:
    assert batch(9) == ([], 0)
