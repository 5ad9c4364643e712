"""Whether a close waits for the handler that runs."""

from __future__ import annotations

from tests.conformance.pulsar.listener.handlers import LATE_MS, Handlers

from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.listener.close_waits_for_no_handler import close_waits_for_no_handler


def test_close_that_ends_while_the_handler_runs_is_accepted() -> None:
    story = Handlers()
    story.called(0)
    story.closes()
    story.after(LATE_MS)
    story.handled(1)
    assert story.judged(close_waits_for_no_handler) == ([], 1)


def test_close_that_ends_behind_the_handler_is_found() -> None:
    story = Handlers()
    story.called(0)
    closing = story.invoke("close", CONSUMER)
    story.after(LATE_MS)
    story.handled(1)
    story.complete(closing)
    assert story.judged(close_waits_for_no_handler) == (["waits-for-handler"], 0)


def test_close_that_never_ends_is_found() -> None:
    story = Handlers()
    story.called(0)
    closing = story.invoke("close", CONSUMER)
    story.after(10_000)
    story.overdue(closing)
    assert story.judged(close_waits_for_no_handler) == (["waits-for-handler"], 0)


def test_close_that_a_fault_may_have_held_up_is_not_judged() -> None:
    story = Handlers()
    story.called(0)
    closing = story.invoke("close", CONSUMER)
    story.fired()
    story.after(LATE_MS)
    story.handled(1)
    story.complete(closing)
    assert story.judged(close_waits_for_no_handler) == ([], 0)


def test_close_behind_the_end_of_the_handler_says_nothing() -> None:
    story = Handlers()
    story.called(0)
    story.handled(1)
    story.closes()
    assert story.judged(close_waits_for_no_handler) == ([], 0)
