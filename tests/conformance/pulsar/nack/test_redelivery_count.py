"""The check of `nack.redelivery-count`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._shared_subscription import HOLE, SECOND, said, two

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.nack.redelivery_count import redelivery_count


def _counted(*counts: int) -> Script:
    """One entry, asked for again before each next time."""
    story = two("Shared")
    for count in counts:
        story.message(0, redelivery_count=count)
        story.redeliver_frame(0)
    return story


def test_redeliveries_counted_one_by_one_are_accepted() -> None:
    assert said(redelivery_count, _counted(0, 1, 2)) == ([], 2)


@pytest.mark.parametrize("counts", [(0, 0), (0, 2), (1,), (0, 1, 1)])
def test_miscounted_redelivery_is_found(counts: tuple[int, ...]) -> None:
    assert said(redelivery_count, _counted(*counts))[0] == ["miscounted"]


def _asked_twice(*counts: int) -> list[str]:
    """One entry, asked for twice before it comes again, and not any more."""
    story = two("Shared")
    story.message(0)
    story.redeliver_frame(0)
    story.redeliver_frame(0)
    for count in counts:
        story.message(0, redelivery_count=count)
    return said(redelivery_count, story)[0]


def test_request_that_comes_while_the_message_is_written_is_counted_in_it() -> None:
    """And once more in the one that it brings about."""
    assert _asked_twice(2, 2) == []


def test_count_beyond_what_was_asked_for_is_found() -> None:
    assert _asked_twice(3) == ["miscounted"]


@pytest.mark.parametrize("count", [0, 1])
def test_consumer_that_goes_may_count_or_not(count: int) -> None:
    story = two("Shared")
    story.message(0)
    story.cut(0)
    story.message(0, conn=1, redelivery_count=count)
    assert said(redelivery_count, story) == ([], 0)


def test_consumer_that_goes_with_half_a_batch_may_count_or_not() -> None:
    story = two("Shared")
    story.message(0, 1, entry=0)
    story.ack_frame(0, ack_sets=((0b10,),))
    story.cut(0)
    story.message(0, 1, entry=0, conn=1, redelivery_count=0, ack_sets=((0b10,),))
    assert said(redelivery_count, story)[0] == []


def test_count_starts_again_once_nobody_was_there() -> None:
    story = _counted(0, 1)
    story.cut(0)
    story.cut(1)
    story.consumer(SECOND + 1, conn=2, kind="Shared")
    story.message(0, conn=2, redelivery_count=0)
    assert said(redelivery_count, story) == ([], 1)


def test_count_is_anybodys_guess_while_a_consumer_may_still_be_there() -> None:
    story = _counted(0, 1)
    for conn in (0, 1):
        story.closed(conn)
    story.consumer(SECOND + 1, conn=2, kind="Shared")
    story.message(0, conn=2, redelivery_count=2)
    assert said(redelivery_count, story, HOLE)[0] == []
    assert said(redelivery_count, story)[0] == ["miscounted"]
