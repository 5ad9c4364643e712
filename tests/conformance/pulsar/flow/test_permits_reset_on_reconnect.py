"""The check of `flow.permits-reset-on-reconnect`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.flow._permits import taking

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.flow.permits_reset_on_reconnect import permits_reset_on_reconnect


def _reconnected() -> Script:
    story = taking(1)
    story.cut()
    story.connected(1)
    story.subscribed(1)
    return story


def test_whole_queue_after_a_reconnect() -> None:
    story = _reconnected()
    story.flow(4, conn=1)
    assert judged(permits_reset_on_reconnect, story) == ([], 1)


def test_less_than_the_queue_after_a_reconnect_is_found() -> None:
    story = _reconnected()
    story.flow(1, conn=1)
    story.after(200)
    assert judged(permits_reset_on_reconnect, story)[0] == ["wrong-permits-after-reconnect"]


def test_grant_for_a_message_of_before_may_cross_the_answer_to_subscribe() -> None:
    story = _reconnected()
    story.flow(1, conn=1)
    story.flow(4, conn=1)
    assert judged(permits_reset_on_reconnect, story) == ([], 1)


def test_no_permits_after_a_reconnect_are_found() -> None:
    story = _reconnected()
    story.after(600)
    assert judged(permits_reset_on_reconnect, story)[0] == ["no-permits-after-reconnect"]


def test_first_connection_is_another_requirements_matter() -> None:
    assert judged(permits_reset_on_reconnect, taking(1)) == ([], 0)
