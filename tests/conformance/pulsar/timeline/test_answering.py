"""Of whose SENDs it is known what was answered."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.judging.certainty import UnknownError
from assay_conformance.model.event import Fate, Frame, Sides
from assay_conformance.pulsar.timeline import Timeline

OTHER = 5


def _two_producers() -> Script:
    story = Script()
    story.producer()
    story.producer(OTHER, conn=7, producer_id=3, name="q")
    story.send(0)
    story.send_frame(0)
    story.send(0, handle=OTHER)
    story.send_frame(0, handle=OTHER, conn=7, producer_id=3, name="q")
    return story


def _unknown(story: Script, at: Frame) -> set[int]:
    def found(timeline: Timeline) -> set[int]:
        unknown = set()
        for handle in (PRODUCER, OTHER):
            try:
                timeline.check_receipts(handle, at)
            except UnknownError:
                unknown.add(handle)
        return unknown

    return asked(story, found)


@pytest.mark.parametrize("fate", [Fate.ALTERED, Fate.INJECTED])
def test_forged_answer_leaves_the_sends_of_other_producers_known(fate: Fate) -> None:
    story = _two_producers()
    forged = story.receipt(0, conn=7, producer_id=3, fate=fate, sides=Sides.RECEIVER)
    assert _unknown(story, forged) == {OTHER}


def test_forged_answer_to_an_unknown_producer_may_be_for_any() -> None:
    story = _two_producers()
    forged = story.receipt(0, producer_id=99, fate=Fate.INJECTED, sides=Sides.RECEIVER)
    assert _unknown(story, forged) == {PRODUCER, OTHER}


def test_what_was_answered_before_a_forged_answer_is_known() -> None:
    story = _two_producers()
    before = story.receipt(0)
    story.receipt(0, conn=7, producer_id=3, fate=Fate.INJECTED, sides=Sides.RECEIVER)
    assert _unknown(story, before) == set()
