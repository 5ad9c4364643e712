"""The check of `nack.ends-ack-timeout`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar._consuming import Consuming
from tests.conformance.pulsar.nack._pace import refused

from assay_conformance.pulsar.checks.nack.ends_ack_timeout import ends_ack_timeout


def timed(**constants: Any) -> Consuming:
    return refused(delay_ms=600, ack_timeout_ms=400, **constants)


def test_one_request_after_the_delay_is_right() -> None:
    story = timed()
    story.after(600)
    story.redeliver_frame(0)
    assert story.judged(ends_ack_timeout) == ([], 1)


def test_request_at_the_ack_timeout_is_found() -> None:
    story = timed()
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(ends_ack_timeout)[0] == ["still-timed-out"]


def test_request_at_the_moment_of_the_refusal_was_under_way() -> None:
    story = timed()
    story.redeliver_frame(0)
    assert story.judged(ends_ack_timeout) == ([], 0)


def test_second_request_is_found() -> None:
    story = timed()
    story.after(600)
    story.redeliver_frame(0)
    story.redeliver_frame(0)
    assert story.judged(ends_ack_timeout)[0] == ["asked-twice"]


def test_request_for_what_came_again_is_right() -> None:
    story = timed()
    story.after(600)
    story.redeliver_frame(0)
    story.gets(0)
    story.after(450)
    story.redeliver_frame(0)
    assert story.judged(ends_ack_timeout) == ([], 1)


def test_batch_handed_over_in_parts_starts_the_clock_again() -> None:
    story = Consuming(nack_delay_ms=100, ack_timeout_ms=200)
    story.gets_batch(0, 2, only=(0,))
    story.nack(1)
    story.member(0, 1, 2)
    story.after(100)
    story.redeliver_frame(0)
    story.after(100)
    story.redeliver_frame(0)
    assert story.judged(ends_ack_timeout) == ([], 0)


def test_message_refused_on_a_lost_connection_too_may_be_asked_for_at_that_time() -> None:
    story = Consuming(nack_delay_ms=300, ack_timeout_ms=200)
    story.gets(0)
    story.cut()
    story.nack(1)
    story.again()
    story.message(0, conn=1)
    story.received(0)
    story.after(100)
    story.nack(2)
    story.after(190)
    story.redeliver_frame(0, conn=1)
    assert story.judged(ends_ack_timeout) == ([], 0)


def of_batch(*nacked: tuple[int, ...]) -> tuple[list[str], int]:
    """A batch of two whose messages are nacked so, and asked for at the acknowledgment time-out."""
    story = Consuming(nack_delay_ms=600, ack_timeout_ms=400)
    story.gets_batch(0, 2)
    for messages in nacked:
        story.nack(*messages)
    story.after(420)
    story.redeliver_frame(0)
    return story.judged(ends_ack_timeout)


def test_batch_that_is_asked_for_at_the_ack_timeout_although_all_of_it_is_nacked_is_found() -> None:
    assert of_batch((1, 2))[0] == ["still-timed-out"]


def test_batch_of_which_a_message_is_open_may_be_asked_for_at_the_ack_timeout() -> None:
    assert of_batch((1,)) == ([], 0)
    assert of_batch((1,), (2,)) == ([], 0)
