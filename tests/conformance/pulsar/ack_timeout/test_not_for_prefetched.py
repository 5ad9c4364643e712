"""The check of `ack-timeout.not-for-prefetched`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.ack_timeout._histories import holding, timed

from assay_conformance.pulsar.checks.ack_timeout.not_for_prefetched import not_for_prefetched


def test_message_that_waits_in_the_queue_is_left_alone() -> None:
    story = timed()
    story.message(0)
    story.after(700)
    story.received(0)
    assert story.judged(not_for_prefetched) == ([], 1)


def test_prefetched_message_that_is_asked_for_is_found() -> None:
    story = timed()
    story.message(0)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(not_for_prefetched)[0] == ["prefetched-asked-for"]


def test_held_message_may_be_asked_for() -> None:
    story = holding()
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(not_for_prefetched) == ([], 0)


def test_message_handed_over_on_a_lost_connection_may_be_asked_for() -> None:
    story = timed()
    story.message(0)
    story.cut()
    story.received(0)
    story.again()
    story.message(0, conn=1)
    story.after(100)
    story.redeliver_frame(0, conn=1)
    assert story.judged(not_for_prefetched) == ([], 0)
