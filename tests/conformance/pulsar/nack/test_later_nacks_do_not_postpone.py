"""The check of `nack.later-nacks-do-not-postpone`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming
from tests.conformance.pulsar.nack._pace import refused

from assay_conformance.checks.base import Check
from assay_conformance.pulsar.checks.nack.later_nacks_do_not_postpone import later_nacks_do_not_postpone
from assay_conformance.pulsar.checks.nack.redelivery_requested_in_time import nack_redelivery_requested_in_time


def steadily(asked_at_ms: int) -> Consuming:
    story = refused()
    for delivery in (2, 3, 4, 5):
        story.after(60)
        story.nack(delivery)
    story.at(asked_at_ms)
    story.redeliver_frame(0, 1, 2, 3, 4)
    return story


def test_refusal_asked_for_among_others_is_right() -> None:
    assert steadily(asked_at_ms=430).judged(later_nacks_do_not_postpone)[0] == []


def test_refusal_postponed_by_others_is_found() -> None:
    assert steadily(asked_at_ms=600).judged(later_nacks_do_not_postpone)[0] == ["postponed"]


def test_refusal_that_is_never_asked_for_among_others_is_found() -> None:
    story = refused()
    story.after(60)
    story.nack(2)
    story.after(600)
    story.close_consumer()
    assert "postponed" in story.judged(later_nacks_do_not_postpone)[0]


def test_single_refusal_is_another_requirement() -> None:
    story = refused()
    story.after(700)
    story.redeliver_frame(0)
    assert story.judged(later_nacks_do_not_postpone) == ([], 0)


def test_acknowledged_refusal_is_not_owed() -> None:
    story = refused()
    story.nack(2)
    story.ack(1)
    story.after(700)
    story.redeliver_frame(1)
    assert story.judged(later_nacks_do_not_postpone) == ([], 0)


@pytest.mark.parametrize("check", [later_nacks_do_not_postpone, nack_redelivery_requested_in_time])
def test_refused_message_may_go_to_a_dead_letter_topic_instead(check: type[Check]) -> None:
    story = refused(max_redeliver_count=1)
    story.after(60)
    story.nack(2)
    story.after(600)
    story.close_consumer()
    assert story.judged(check)[0] == []
