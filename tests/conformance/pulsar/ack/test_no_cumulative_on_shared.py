"""The check of `ack.no-cumulative-on-shared`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.checks.ack.no_cumulative_on_shared import no_cumulative_on_shared


@pytest.mark.parametrize("kind", ["Shared", "Key_Shared"])
def test_refusal_on_a_shared_subscription_is_right(kind: str) -> None:
    story = Consuming(kind)
    story.gets(0)
    story.ack(1, cumulative=True, outcome=Outcome.FAIL)
    assert story.judged(no_cumulative_on_shared) == ([], 1)


def test_cumulative_ack_that_is_taken_and_sent_is_found() -> None:
    story = Consuming("Key_Shared")
    story.gets(0)
    story.ack(1, cumulative=True)
    story.cumulative_frame(0)
    assert story.judged(no_cumulative_on_shared)[0] == ["accepted", "sent"]


def test_cumulative_ack_on_failover_is_none_of_this() -> None:
    story = Consuming("Failover")
    story.gets(0)
    story.ack(1, cumulative=True)
    story.cumulative_frame(0)
    assert story.judged(no_cumulative_on_shared) == ([], 0)
