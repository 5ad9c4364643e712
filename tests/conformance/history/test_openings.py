"""What a close, or the death of an agent, ends of what is open."""

from __future__ import annotations

from assay_conformance.history.openings import Openings
from assay_conformance.history.script import Script
from assay_conformance.model.event import AgentEnded


def _two_of_a_client(story: Script) -> Openings:
    openings = Openings()
    for handle in (1, 2):
        openings.add(story.invoke("open_producer", handle, args={"client": 9}))
    return openings


def test_a_close_ends_what_has_its_handle() -> None:
    story = Script()
    assert _two_of_a_client(story).ended_by(story.invoke("close", 2)) == [2]


def test_the_close_of_a_client_ends_all_that_is_its() -> None:
    story = Script()
    assert _two_of_a_client(story).ended_by(story.invoke("close", 9)) == [1, 2]


def test_what_has_ended_does_not_end_again_with_the_agent() -> None:
    story = Script()
    openings = _two_of_a_client(story)
    openings.ended_by(story.invoke("close", 1))
    assert openings.ended_by(story.add(AgentEnded, reason="killed", killed=True)) == [2]
