"""The check of `throttling.pending-publishes-pause-reads`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._levels import case_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Step, Topology, Who
from assay_conformance.model.event import Fate, Sides
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.checks.throttling.pending_publishes_pause_reads import pending_publishes_pause_reads

HELD = case_of(Topology(settings=BrokerSettings(max_pending_sends=3)), Step(Who.BROKER, "hold_store", {"topic": "t"}))


def _sent(count: int, size: int = 256 * 1024) -> Script:
    story = Script()
    story.producer()
    for number in range(count):
        story.send_frame(number, size=size)
    return story


def test_sends_up_to_the_limit_and_what_is_read_ahead_are_accepted() -> None:
    check = trial(pending_publishes_pause_reads, _sent(6).done(), HELD)
    assert (codes_of(check), check.exercised) == ([], 1)


def test_sends_that_are_read_on_are_found() -> None:
    assert codes_of(trial(pending_publishes_pause_reads, _sent(7).done(), HELD)) == ["reads-on"]


@pytest.mark.parametrize("fate", [Fate.RELEASED, Fate.ALTERED])
def test_sends_that_a_fault_let_go_all_at_once_are_not_counted(fate: Fate) -> None:
    story = _sent(1)
    for number in range(1, 6):
        story.send_frame(number, size=256 * 1024, fate=fate, sides=Sides.RECEIVER)
    assert codes_of(trial(pending_publishes_pause_reads, story.done(), HELD)) == []


def test_answered_sends_do_not_count() -> None:
    story = _sent(3)
    for number in range(3):
        story.receipt(number)
    for number in range(3, 6):
        story.send_frame(number, size=256 * 1024)
    assert codes_of(trial(pending_publishes_pause_reads, story.done(), HELD)) == []
