"""Whether handler calls begin after the end of a close."""

from __future__ import annotations

from tests.conformance.pulsar.listener.handlers import CLIENT, LATE_MS, Handlers

from assay_conformance.pulsar.checks.listener.none_after_close import none_after_close


def closed(handle: int | None = None) -> Handlers:
    """A handler call runs when its consumer, or client, is closed."""
    story = Handlers()
    story.called(0)
    story.message(1)
    story.closes(*(() if handle is None else (handle,)))
    return story


def test_call_that_ends_behind_the_close_is_accepted() -> None:
    story = closed()
    story.after(LATE_MS)
    story.handled(1)
    assert story.judged(none_after_close) == ([], 1)


def test_call_that_begins_behind_the_close_is_found() -> None:
    for handle in (None, CLIENT):
        story = closed(handle)
        story.after(LATE_MS)
        story.handled(1)
        story.received(1, called_ns=story.now_ns)
        assert story.judged(none_after_close) == (["called-after-close"], 1)


def test_call_that_a_thread_was_about_to_make_is_accepted() -> None:
    story = closed()
    story.after(20)
    story.received(1, called_ns=story.now_ns)
    assert story.judged(none_after_close) == ([], 1)


def test_close_of_a_consumer_without_calls_says_nothing() -> None:
    story = Handlers()
    story.closes()
    assert story.judged(none_after_close) == ([], 0)
