"""How calls end that are made in a handler call."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.listener.handlers import Handlers

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import ErrorClass, Fate, Invoke, Outcome
from assay_conformance.pulsar.checks.listener.calls_inside_succeed import calls_inside_succeed


def inside(verb: str = "ack") -> tuple[Handlers, Invoke]:
    story = Handlers()
    story.called(0)
    named = {"messages": [1]} if verb != "close" else {}
    return story, story.invoke(verb, CONSUMER, args={"inside": 1, **named})


@pytest.mark.parametrize("verb", ["ack", "nack", "close"])
def test_call_that_ends_well_is_accepted(verb: str) -> None:
    story, call = inside(verb)
    story.complete(call)
    story.handled(1)
    assert story.judged(calls_inside_succeed) == ([], 1)


@pytest.mark.parametrize("verb", ["ack", "nack", "close"])
def test_call_that_fails_is_found(verb: str) -> None:
    story, call = inside(verb)
    story.complete(call, Outcome.FAIL, error=ErrorClass.CLOSED)
    assert story.judged(calls_inside_succeed) == (["failed"], 0)


@pytest.mark.parametrize(("count", "codes"), [(0, []), (1, ["failed"])])
def test_call_in_a_handler_call_that_came_too_late_for_its_receive_may_fail(count: int, codes: list[str]) -> None:
    story = Handlers()
    story.complete(story.invoke("receive", CONSUMER, args={"count": 1}), count=count)
    story.called(0)
    call = story.invoke("ack", CONSUMER, args={"inside": 1, "messages": [1]})
    story.complete(call, Outcome.FAIL, error=ErrorClass.OTHER)
    assert story.judged(calls_inside_succeed)[0] == codes


def test_a_receive_that_is_called_later_let_no_handler_call_wait() -> None:
    story = Handlers()
    story.complete(story.invoke("receive", CONSUMER, args={"count": 1}), count=0)
    story.called(0)
    call = story.invoke("ack", CONSUMER, args={"inside": 1, "messages": [1]})
    story.complete(call, Outcome.FAIL, error=ErrorClass.OTHER)
    story.complete(story.invoke("receive", CONSUMER, args={"count": 1}), count=1)
    assert story.judged(calls_inside_succeed)[0] == []


def test_call_that_never_ends_is_found() -> None:
    story, call = inside()
    story.after(10_000)
    story.overdue(call)
    assert story.judged(calls_inside_succeed) == (["never-ended"], 0)


def test_call_on_a_connection_that_was_lost_may_fail() -> None:
    story, call = inside()
    story.cut()
    story.complete(call, Outcome.FAIL, error=ErrorClass.CLOSED)
    assert story.judged(calls_inside_succeed) == ([], 0)


def test_call_about_another_topic_than_the_one_that_a_fault_holds_is_judged() -> None:
    story, call = inside()
    other = {"topic": story.full("u"), "subscription": f"s{CONSUMER}"}
    story.up("SUBSCRIBE", consumer_id=1, request_id=99, fate=Fate.HELD, fields=other)
    story.complete(call, Outcome.FAIL, error=ErrorClass.CLOSED)
    assert story.judged(calls_inside_succeed) == (["failed"], 0)
