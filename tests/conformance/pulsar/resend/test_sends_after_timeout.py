"""resend.sends-after-timeout, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import MESSAGE_BYTES, Script
from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.checks.resend.sends_after_timeout import sends_after_timeout

TIMEOUT_MS = 400


def after_one_that_timed_out(size: int = MESSAGE_BYTES) -> Script:
    """The receipt of message 0 came when its send had timed out."""
    story = Script()
    story.producer(send_timeout_ms=TIMEOUT_MS)
    story.after(500)
    story.send(0)
    story.send_frame(0)
    story.after(TIMEOUT_MS)
    story.unknown(0)
    story.receipt(0)
    story.after(100)
    story.send(1, size=size)
    return story


def judged(story: Script) -> tuple[list[str], int]:
    check = trial(sends_after_timeout, story.done())
    return [finding.code for finding in check.findings], check.exercised


def test_send_that_is_written_and_receipted_is_accepted() -> None:
    story = after_one_that_timed_out()
    story.send_frame(1)
    story.receipt(1)
    story.ok(1)
    assert judged(story) == ([], 1)


def test_send_that_is_never_written_is_found() -> None:
    story = after_one_that_timed_out()
    story.after(TIMEOUT_MS)
    story.fail(1, ErrorClass.TIMEOUT)
    assert judged(story) == (["not-written"], 0)


def test_small_message_is_not_known_to_have_stayed() -> None:
    story = after_one_that_timed_out(size=4)
    story.after(TIMEOUT_MS)
    story.fail(1, ErrorClass.TIMEOUT)
    assert judged(story) == ([], 0)


def test_send_that_is_written_and_gets_no_receipt_may_time_out() -> None:
    story = after_one_that_timed_out()
    story.send_frame(1)
    story.after(TIMEOUT_MS)
    story.unknown(1)
    assert judged(story) == ([], 0)


def test_send_on_a_lost_connection_may_time_out() -> None:
    story = after_one_that_timed_out()
    story.cut()
    story.after(TIMEOUT_MS)
    story.fail(1, ErrorClass.TIMEOUT)
    assert judged(story) == ([], 0)
