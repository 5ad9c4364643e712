"""The check of `nack.short-delay-not-behind-long`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.nack._backoff import refusing

from assay_conformance.pulsar.checks.nack.short_delay_not_behind_long import short_delay_not_behind_long


def test_short_refusal_comes_ahead_of_a_longer_one() -> None:
    story = refusing(2, 0)
    story.nack(1)
    story.nack(2)
    story.after(110)
    story.redeliver_frame(1)
    assert story.judged(short_delay_not_behind_long) == ([], 1)


def test_short_refusal_that_waits_for_a_longer_one_is_found() -> None:
    story = refusing(2, 0)
    story.nack(1)
    story.nack(2)
    story.after(1_000)
    story.redeliver_frame(0, 1)
    assert story.judged(short_delay_not_behind_long)[0] == ["waits-for-longer"]
