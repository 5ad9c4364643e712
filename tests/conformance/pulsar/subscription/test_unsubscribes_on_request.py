"""The check of `subscription.unsubscribes-on-request`, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.pulsar.checks.subscription.unsubscribes_on_request import unsubscribes_on_request


def _judged(story: Script) -> tuple[list[str], int]:
    check = trial(unsubscribes_on_request, story.done())
    return [finding.code for finding in check.findings], check.exercised


def _leaving(verb: str, *, unsubscribes: bool) -> Script:
    """The application closes a consumer, or unsubscribes it."""
    story = Script()
    story.consumer()
    call = story.invoke(verb, CONSUMER, args={"consumer": CONSUMER})
    if unsubscribes:
        story.up("UNSUBSCRIBE", consumer_id=0, request_id=9)
        story.down("SUCCESS", request_id=9)
    story.complete(call)
    return story


def test_close_that_leaves_the_subscription_is_accepted() -> None:
    assert _judged(_leaving("close", unsubscribes=False)) == ([], 1)


def test_close_that_unsubscribes_is_found() -> None:
    assert _judged(_leaving("close", unsubscribes=True))[0] == ["unasked"]


def test_consumer_that_is_to_unsubscribe_may() -> None:
    assert _judged(_leaving("unsubscribe", unsubscribes=True)) == ([], 0)


def test_consumer_of_a_pattern_may_unsubscribe_from_a_topic_that_is_gone() -> None:
    story = Script()
    call = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s", "pattern": "t.*"})
    story.connected(0)
    story.subscribed()
    story.complete(call)
    story.up("UNSUBSCRIBE", consumer_id=0, request_id=9)
    assert _judged(story) == ([], 0)
