"""Calls that wait for their broker in the callback of a send."""

from __future__ import annotations

from tests.conformance.pulsar.producer.callbacks import Callbacks

from assay_conformance.pulsar.checks.producer.waiting_calls_in_callback_end import waiting_calls_in_callback_end


def test_flush_that_ends_is_accepted() -> None:
    story = Callbacks()
    story.complete(story.calls("flush", inside=True))
    assert story.judged(waiting_calls_in_callback_end) == ([], 1)


def test_flush_that_never_ends_is_found() -> None:
    story = Callbacks()
    story.never_ends(story.calls("flush", inside=True))
    assert story.judged(waiting_calls_in_callback_end) == (["never-ended"], 0)


def test_blocking_send_that_never_ends_is_found() -> None:
    story = Callbacks()
    story.never_ends(story.calls("send", inside=True, mode="sync"))
    assert story.judged(waiting_calls_in_callback_end) == (["never-ended"], 0)


def test_send_that_does_not_wait_is_not_judged_here() -> None:
    story = Callbacks()
    story.never_ends(story.calls("send", inside=True))
    assert story.judged(waiting_calls_in_callback_end) == ([], 0)
