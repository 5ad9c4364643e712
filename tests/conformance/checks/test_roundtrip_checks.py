"""Odd messages, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.roundtrip import MetadataRoundTrip, RoundTrip
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Member


def judged(story: Script, by: type[Check] = RoundTrip) -> tuple[list[str], int]:
    said = trial(by, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _sent(**args: Any) -> Script:
    story = Script()
    story.producer()
    story.consumer(conn=1)
    story.send(0, **args)
    return story


def _carried(story: Script, **fields: Any) -> None:
    """The message is stored and comes to the consumer."""
    story.stored(0, **fields)
    story.message(0, conn=1, **fields)


EMPTY = {"members": (Member(size=0, digest=0),)}


def test_empty_message_arrives() -> None:
    story = _sent()
    _carried(story, **EMPTY)
    story.received(0, size=0, digest=0, identity=None)
    assert judged(story) == ([], 1)


def test_empty_message_that_is_withheld_is_found() -> None:
    story = _sent()
    _carried(story, **EMPTY)
    story.after(600)
    receive = story.invoke("receive", CONSUMER, args={"count": 1})
    story.complete(receive, count=0)
    assert judged(story)[0] == ["not-delivered"]


def test_message_of_other_content_is_found() -> None:
    story = _sent()
    _carried(story, **EMPTY)
    story.received(0, size=1, digest=5, identity=None)
    assert judged(story)[0] == ["changed"]


ASKED: list[dict[str, Any]] = [{"properties": {"a": "", "b": "x" * 70_000}}, {"event_time_ms": 7}, {"event_time_ms": 0}]


@pytest.mark.parametrize("args", ASKED)
def test_properties_and_event_times_arrive(args: dict[str, Any]) -> None:
    story = _sent(**args)
    _carried(story)
    story.received(0, **args)
    assert judged(story, MetadataRoundTrip) == ([], 1)


def test_event_time_of_zero_may_look_like_none() -> None:
    story = _sent(event_time_ms=0)
    _carried(story)
    story.received(0)
    assert judged(story, MetadataRoundTrip)[0] == []


@pytest.mark.parametrize("came", [{"properties": {}}, {"properties": {"a": "b"}}])
def test_other_properties_are_found(came: dict[str, Any]) -> None:
    story = _sent(properties={"a": "c"})
    _carried(story)
    story.received(0, **came)
    assert judged(story, MetadataRoundTrip)[0] == ["changed"]


def test_other_key_is_found() -> None:
    story = _sent()
    _carried(story, members=(Member(size=1, digest=1, key="k"),))
    story.received(0, size=1, digest=1, key="other")
    assert judged(story, MetadataRoundTrip)[0] == ["changed"]
    assert judged(story)[0] == []
