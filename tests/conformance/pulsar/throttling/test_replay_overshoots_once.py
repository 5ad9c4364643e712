"""The check of `throttling.replay-overshoots-once`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._levels import TEN, topic_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.throttling.replay_overshoots_once import replay_overshoots_once


def _mixed(seconds: int, again: int, new: int) -> Script:
    """In every second so many entries again and so many new ones."""
    story = Script()
    story.consumer(kind="Shared")
    story.flow(10_000)
    story.message(0)
    fresh = again
    for second in range(seconds):
        story.at(500 + 1_000 * second)
        for number in range(again):
            story.message(number, redelivery_count=1)
        for _ in range(new):
            story.message(fresh)
            fresh += 1
    return story


def test_again_and_new_within_one_rate_are_accepted() -> None:
    check = trial(replay_overshoots_once, _mixed(6, 5, 5).done(), topic_of(dispatch_rate=TEN))
    assert codes_of(check) == []
    assert check.exercised > 0


def test_one_read_too_much_is_accepted() -> None:
    assert codes_of(trial(replay_overshoots_once, _mixed(1, 10, 10).done(), topic_of(dispatch_rate=TEN))) == []


def test_rate_of_its_own_for_what_comes_again_is_found() -> None:
    check = trial(replay_overshoots_once, _mixed(6, 10, 10).done(), topic_of(dispatch_rate=TEN))
    assert codes_of(check) == ["too-fast"]
