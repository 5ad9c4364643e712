"""Offers: what became of whole messages that reached a client."""

from __future__ import annotations

from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Fate, Sides
from assay_conformance.pulsar.timeline import Timeline, incoming_messages


def _fates(timeline: Timeline) -> list[tuple[bool, int]]:
    """Of each message: whether the application got it, and how many receives missed it."""
    found = incoming_messages(timeline, timeline.events.frames("MESSAGE"))
    return [(incoming.taken is not None, len(incoming.missed)) for incoming in found]


def _came(timeline: Timeline) -> list[tuple[bool, int]]:
    """The same of what reached the client."""
    found = incoming_messages(timeline, (frame for frame in timeline.events.frames("MESSAGE") if frame.to_receiver))
    return [(incoming.taken is not None, len(incoming.missed)) for incoming in found]


def _receive(story: Script, *, got: int) -> None:
    story.complete(story.invoke("receive", CONSUMER, args={"count": 1}), count=got)


def test_message_that_the_application_got_is_taken() -> None:
    story = Script()
    story.consumer()
    story.message(0)
    story.received(0)
    assert asked(story, _fates) == [(True, 0)]


def test_message_that_a_receive_ended_without_long_after_it_came_is_missed() -> None:
    story = Script()
    story.consumer()
    story.message(0)
    story.after(2_000)
    _receive(story, got=0)
    assert asked(story, _fates) == [(False, 1)]


def test_message_that_has_just_come_is_not_missed_yet() -> None:
    story = Script()
    story.consumer()
    story.message(0)
    _receive(story, got=0)
    assert asked(story, _fates) == [(False, 0)]


def test_message_that_is_taken_late_was_missed_by_the_receive_before() -> None:
    story = Script()
    story.consumer()
    story.message(0)
    story.after(2_000)
    _receive(story, got=0)
    story.received(0)
    assert asked(story, _fates) == [(True, 1)]


def test_each_message_of_a_batch_is_an_came() -> None:
    story = Script()
    story.consumer()
    story.message(0, 1, batch=True)
    assert asked(story, _fates) == [(False, 0), (False, 0)]


def _held_copy(story: Script, *, again: bool) -> Script:
    """A message that a fault holds, while everything is asked for again or not; it comes, and a receive ends short."""
    story.consumer()
    story.message(0, frame=90, fate=Fate.HELD, sides=Sides.SENDER)
    if again:
        story.redeliver_frame()
    story.message(0, frame=90, fate=Fate.RELEASED, sides=Sides.RECEIVER)
    story.after(2_000)
    _receive(story, got=0)
    return story


def test_copy_that_was_written_before_everything_was_asked_for_again_is_not_owed() -> None:
    assert asked(_held_copy(Script(), again=True), _came) == []


def test_copy_that_a_fault_held_is_owed_once_it_is_let_go() -> None:
    assert asked(_held_copy(Script(), again=False), _came) == [(False, 1)]
