"""What follows an exception of a handler."""

from __future__ import annotations

from tests.conformance.pulsar.listener.handlers import LATE_MS, Handlers

from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.listener.survives_exception import survives_exception


def raised() -> Handlers:
    story = Handlers()
    story.called(0)
    story.handled(1, raised=True)
    return story


def test_handler_that_is_called_again_is_accepted() -> None:
    story = raised()
    story.called(1)
    assert story.judged(survives_exception) == ([], 1)


def test_handler_that_is_not_called_with_what_has_come_is_found() -> None:
    story = raised()
    asked = story.invoke("receive", CONSUMER, args={"count": 1})
    story.message(1)
    story.after(LATE_MS)
    story.complete(asked, count=0)
    assert story.judged(survives_exception) == (["not-called-again"], 0)


def test_acknowledgment_that_nobody_asked_for_is_found() -> None:
    story = raised()
    story.called(1)
    story.ack_frame(0)
    assert story.judged(survives_exception) == (["acknowledged"], 0)


def test_acknowledgment_of_the_application_is_accepted() -> None:
    story = raised()
    story.called(1)
    story.complete(story.invoke("ack", CONSUMER, args={"messages": [1]}))
    story.ack_frame(0)
    assert story.judged(survives_exception) == ([], 1)


def test_nothing_to_call_it_with_says_nothing() -> None:
    story = raised()
    story.complete(story.invoke("receive", CONSUMER, args={"count": 1}), count=0)
    assert story.judged(survives_exception) == ([], 0)
