"""The check of `subscription.exclusive-one-consumer`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar._shared_subscription import FIRST, SECOND, said, two

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.subscription.exclusive_one_consumer import exclusive_one_consumer


def _second(answer: str, **fields: Any) -> Script:
    story = Script()
    story.consumer(FIRST)
    story.connected(1)
    asked = {"topic": story.full("t"), "subscription": "s", "subType": "Exclusive"}
    story.up("SUBSCRIBE", 1, consumer_id=0, request_id=77, fields=asked)
    story.down(answer, 1, request_id=77, fields=fields)
    return story


def test_second_exclusive_consumer_that_is_refused_is_accepted() -> None:
    assert said(exclusive_one_consumer, _second("ERROR", error="ConsumerBusy")) == ([], 1)


def test_second_exclusive_consumer_that_is_let_in_is_found() -> None:
    assert said(exclusive_one_consumer, _second("SUCCESS"))[0] == ["second-admitted"]


def test_another_error_proves_nothing() -> None:
    assert said(exclusive_one_consumer, _second("ERROR", error="ServiceNotReady")) == ([], 0)


def test_consumer_in_place_of_one_whose_connection_ended_is_accepted() -> None:
    story = Script()
    story.consumer(FIRST)
    story.cut(0)
    story.consumer(SECOND, conn=1)
    assert said(exclusive_one_consumer, story) == ([], 0)


def test_second_shared_consumer_is_no_matter_of_this() -> None:
    assert said(exclusive_one_consumer, two("Shared")) == ([], 0)


def test_consumer_that_asked_twice_under_its_id_ends_with_its_connection() -> None:
    story = Script()
    story.consumer(FIRST)
    story.subscribed()
    story.cut(0)
    story.consumer(SECOND, conn=1)
    assert said(exclusive_one_consumer, story) == ([], 0)
