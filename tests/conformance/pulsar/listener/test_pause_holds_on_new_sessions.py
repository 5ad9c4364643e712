"""Whether a consumer that is paused stays so on topics that it finds, and where it returns to."""

from __future__ import annotations

from tests.conformance.pulsar.listener.handlers import LATE_MS, Handlers

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Fate, Sides
from assay_conformance.pulsar.checks.listener.pause_holds_on_new_sessions import pause_holds_on_new_sessions

RETURNED = 1
"""The connection that it comes back on."""


def returned() -> Handlers:
    """A consumer is paused, loses its connection and is subscribed on another one."""
    story = Handlers()
    story.complete(story.invoke("pause", CONSUMER), done_ns=story.now_ns)
    story.cut()
    story.connected(RETURNED)
    story.subscribed(conn=RETURNED, subscription=f"s{CONSUMER}")
    story.after(LATE_MS)
    return story


def resumes(story: Handlers) -> None:
    story.complete(story.invoke("resume", CONSUMER))


def calls(story: Handlers) -> None:
    story.message(0, conn=RETURNED)
    story.received(0, CONSUMER, called_ns=story.now_ns)


def test_handler_that_is_called_behind_the_resume_is_accepted() -> None:
    story = returned()
    resumes(story)
    calls(story)
    assert story.judged(pause_holds_on_new_sessions) == ([], 1)


def test_handler_that_is_called_while_paused_is_found() -> None:
    for resumed in (True, False):
        story = returned()
        calls(story)
        if resumed:
            resumes(story)
        assert story.judged(pause_holds_on_new_sessions) == (["called-while-paused"], 0)


def test_message_that_had_come_on_an_older_session_may_be_handed_over() -> None:
    story = Handlers()
    story.message(0)
    story.complete(story.invoke("pause", CONSUMER), done_ns=story.now_ns)
    story.cut()
    story.connected(RETURNED)
    story.subscribed(conn=RETURNED, subscription=f"s{CONSUMER}")
    story.after(LATE_MS)
    calls(story)
    assert story.judged(pause_holds_on_new_sessions) == ([], 1)


def test_message_that_a_fault_held_and_released_on_the_new_session_may_be_delivered() -> None:
    story = Handlers()
    story.complete(story.invoke("pause", CONSUMER), done_ns=story.now_ns)
    story.subscribed(subscription=f"s{CONSUMER}")
    story.after(LATE_MS)
    story.message(0, sides=Sides.RECEIVER, fate=Fate.RELEASED)
    story.received(0, CONSUMER, called_ns=story.now_ns)
    assert story.judged(pause_holds_on_new_sessions) == ([], 1)


def test_session_that_begins_behind_the_resume_says_nothing() -> None:
    story = Handlers()
    story.complete(story.invoke("pause", CONSUMER), done_ns=story.now_ns)
    resumes(story)
    story.cut()
    story.connected(RETURNED)
    story.subscribed(conn=RETURNED, subscription=f"s{CONSUMER}")
    story.after(LATE_MS)
    calls(story)
    assert story.judged(pause_holds_on_new_sessions) == ([], 0)
