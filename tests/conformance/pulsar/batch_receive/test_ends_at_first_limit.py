"""When batch receives end."""

from __future__ import annotations

from tests.conformance.pulsar.batch_receive.batches import TIMEOUT_MS, Batches

from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.batch_receive.ends_at_first_limit import ends_at_first_limit


def after(ms: float, count: int, came: int, **limits: int) -> tuple[list[str], int]:
    """A batch receive that ends so long after its call with `count` messages, when `came` had come."""
    story = Batches(**limits)
    for number in range(came):
        story.message(number)
    call = story.called()
    story.after(ms)
    story.ended(call, *range(count))
    return story.judged(ends_at_first_limit)


def test_batch_that_ends_with_its_time_is_accepted() -> None:
    assert after(TIMEOUT_MS, 0, 0) == ([], 1)
    assert after(TIMEOUT_MS, 2, 2, max_messages=5) == ([], 1)


def test_batch_that_ends_late_is_found() -> None:
    assert after(2 * TIMEOUT_MS, 0, 0) == (["late"], 0)


def test_batch_that_never_ends_is_found() -> None:
    story = Batches()
    call = story.called()
    story.after(10_000)
    story.overdue(call)
    assert story.judged(ends_at_first_limit) == (["late"], 0)


def test_full_batch_ends_at_once() -> None:
    assert after(1, 3, 3, max_messages=3) == ([], 1)
    assert after(TIMEOUT_MS, 3, 3, max_messages=3) == (["waits-when-full"], 0)


def test_batch_that_ends_before_its_time_without_being_full_is_found() -> None:
    assert after(1, 2, 2, max_messages=3) == (["too-early"], 0)
    assert after(1, 0, 0) == (["too-early"], 0)


def test_batch_of_enough_bytes_may_end_before_its_time() -> None:
    assert after(1, 2, 2, max_bytes=100) == ([], 1)


def test_batch_of_a_consumer_that_is_closed_ends_when_it_likes() -> None:
    story = Batches()
    call = story.called()
    story.complete(story.invoke("close", CONSUMER))
    story.ended(call)
    assert story.judged(ends_at_first_limit) == ([], 0)


def test_batch_that_is_limited_by_its_queue_may_end_with_less() -> None:
    assert after(1, 2, 2, max_messages=5, queue=2) == ([], 1)
    assert after(1, 2, 2, max_messages=5, queue=3) == (["too-early"], 0)


def test_batch_may_wait_for_more_than_the_queue_was_to_hold() -> None:
    """Its client may have enlarged the queue."""
    assert after(TIMEOUT_MS, 3, 3, max_messages=5, queue=2) == ([], 1)
    assert after(TIMEOUT_MS, 5, 5, max_messages=5, queue=2) == (["waits-when-full"], 0)


def received_before(count: int, *, sought: bool = False) -> tuple[list[str], int]:
    """Of four messages so many are received; a batch ends at once with the next one, behind a seek that drops all."""
    story = Batches(max_bytes=150)
    for number in range(4):
        story.message(number)
    for number in range(count):
        story.received(number)
    if sought:
        story.down("CLOSE_CONSUMER", consumer_id=0)
        story.subscribed()
        story.message(3)
        story.after(200)
    call = story.called()
    story.after(1)
    story.ended(call, 3 if sought else count)
    return story.judged(ends_at_first_limit)


def test_bytes_of_what_was_received_do_not_fill_a_batch() -> None:
    assert received_before(3) == (["too-early"], 0)
    assert received_before(1) == ([], 1)


def test_bytes_of_what_a_new_session_dropped_do_not_fill_a_batch() -> None:
    assert received_before(0, sought=True) == (["too-early"], 0)
