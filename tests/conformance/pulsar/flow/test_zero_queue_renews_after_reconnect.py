"""The check of `flow.zero-queue-renews-after-reconnect`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.flow._returned_permits import Asking, takes_one

from assay_conformance.pulsar.checks.flow.zero_queue_renews_after_reconnect import zero_queue_renews_after_reconnect


def test_waiting_receive_asks_again() -> None:
    story = Asking(queue=0)
    story.receive(1)
    story.flow(1)
    story.again()
    story.flow(1, conn=1)
    assert story.judged(zero_queue_renews_after_reconnect) == ([], 1)


def test_waiting_receive_without_a_permit_is_found() -> None:
    story = Asking(queue=0)
    receive = story.receive(1)
    story.flow(1)
    story.again()
    story.after(1_000)
    story.complete(receive, count=0)
    assert story.judged(zero_queue_renews_after_reconnect)[0] == ["waits-without-permit"]


def _asks_late(ahead_ms: int) -> Asking:
    """Back for a second, and asked for a message so long before the connection is lost again."""
    story = takes_one()
    story.again()
    story.after(1_000)
    story.receive(1)
    story.after(ahead_ms)
    story.cut(1)
    return story


def test_receive_that_is_asked_for_as_the_session_ends_needs_no_permit() -> None:
    assert _asks_late(1).judged(zero_queue_renews_after_reconnect) == ([], 0)


def test_receive_that_is_asked_for_long_before_the_session_ends_needs_one() -> None:
    assert _asks_late(1_000).judged(zero_queue_renews_after_reconnect)[0] == ["waits-without-permit"]


def test_nobody_waits_and_nothing_is_asked() -> None:
    story = takes_one()
    story.again()
    story.after(1_000)
    assert story.judged(zero_queue_renews_after_reconnect) == ([], 0)
