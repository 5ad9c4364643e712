"""The check of `subscription.failover-redelivers-unacked`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._shared_subscription import said, two

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.subscription.failover_redelivers_unacked import failover_redelivers_unacked


def _failover(*second_gets: int) -> Script:
    """The first consumer gets 0, 1 and 2 and acks 0; the second becomes active and gets these."""
    story = two("Failover")
    story.down("ACTIVE_CONSUMER_CHANGE", 0, consumer_id=0, fields={"is_active": True})
    for number in range(3):
        story.message(number)
    story.ack_frame(0)
    story.cut(0)
    story.down("ACTIVE_CONSUMER_CHANGE", 1, consumer_id=0, fields={"is_active": True})
    for number in second_gets:
        story.message(number, conn=1)
    return story


def test_next_active_consumer_that_begins_with_the_unacked_is_accepted() -> None:
    assert said(failover_redelivers_unacked, _failover(1, 2, 3)) == ([], 1)


@pytest.mark.parametrize("gets", [(3,), (2, 1), (1, 3)])
def test_next_active_consumer_that_passes_over_is_found(gets: tuple[int, ...]) -> None:
    assert "passed-over" in said(failover_redelivers_unacked, _failover(*gets))[0]


def test_entry_for_a_consumer_that_is_not_active_is_found() -> None:
    story = two("Failover")
    story.down("ACTIVE_CONSUMER_CHANGE", 0, consumer_id=0, fields={"is_active": True})
    story.message(0, conn=1)
    assert said(failover_redelivers_unacked, story)[0] == ["two-active"]


def test_what_is_acked_meanwhile_needs_not_come() -> None:
    story = _failover()
    story.ack_frame(1, 2, conn=1)
    story.message(3, conn=1)
    assert said(failover_redelivers_unacked, story) == ([], 0)
