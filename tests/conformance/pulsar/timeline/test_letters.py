"""Letters, as the timeline has them: which SENDs they are, and what they are copies of."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._letters import sent_round_again
from tests.conformance.pulsar.dead_letter._letters import refused_twice
from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.model.event import Fate, Frame, Sides
from assay_conformance.pulsar.timeline import Entry
from assay_conformance.pulsar.timeline.letters import Kind


def test_letter_that_a_fault_holds_is_one() -> None:
    story = refused_twice()
    story.posts()
    sent = story.events[-1]
    assert isinstance(sent, Frame)
    story.events[-1] = msgspec.structs.replace(sent, sides=Sides.SENDER, fate=Fate.HELD)
    released = msgspec.structs.replace(sent, seq=sent.seq + 1, sides=Sides.RECEIVER, fate=Fate.RELEASED)
    story.events.append(released)
    assert len(asked(story, lambda timeline: timeline.letters.all)) == 1


def test_letter_names_the_message_it_is_a_copy_of() -> None:
    story = refused_twice()
    story.posts()
    letters = asked(story, lambda timeline: [(one.kind, one.origin, one.again) for one in timeline.letters.all])
    assert letters == [(Kind.DEAD, Entry("t", 1, 0), False)]


def test_copy_of_a_copy_names_the_first_message() -> None:
    story, _ = sent_round_again()
    rounds = asked(story, lambda timeline: [(one.entry, one.origin, one.times) for one in timeline.letters.rounds])
    assert rounds == [(Entry("t", 1, 0), Entry("t", 1, 0), 0), (Entry("t", 1, 1), Entry("t", 1, 0), 1)]
