"""Who is told of an event: by its kind, its word, and the sides that carried it."""

from __future__ import annotations

from assay_conformance.checks.base import CAME, LEFT, on
from assay_conformance.checks.routes import Table
from assay_conformance.history.script import Script
from assay_conformance.model.event import Event, Fate, Frame, Invoke, Sides


class Listener:
    def __init__(self) -> None:
        self.told: list[str] = []

    @on(Frame, "SEND", seen=LEFT)
    def written(self, _event: Frame) -> None:
        self.told.append("written")

    @on(Frame, "SEND", seen=CAME)
    def arrived(self, _event: Frame) -> None:
        self.told.append("arrived")

    @on(Frame)
    def any_frame(self, _event: Frame) -> None:
        self.told.append("frame")

    @on(Invoke, "send")
    def asked_for(self, _event: Invoke) -> None:
        self.told.append("asked for")


def _told(event: Event) -> list[str]:
    listener = Listener()
    for handler in Table([listener]).of(event):
        handler(event)
    return listener.told


def _send(sides: Sides) -> Frame:
    story = Script()
    story.producer()
    return story.send_frame(0, sides=sides, fate=Fate.PASSED if sides is Sides.BOTH else Fate.HELD)


def test_a_frame_that_both_carried_was_written_and_arrived() -> None:
    assert sorted(_told(_send(Sides.BOTH))) == ["arrived", "frame", "written"]


def test_a_frame_that_its_sender_alone_carried_did_not_arrive() -> None:
    assert _told(_send(Sides.SENDER)) == ["written", "frame"]


def test_a_frame_that_its_receiver_alone_carried_was_not_written() -> None:
    assert _told(_send(Sides.RECEIVER)) == ["arrived", "frame"]


def test_who_names_no_command_hears_of_every_frame() -> None:
    story = Script()
    assert _told(story.up("PING")) == ["frame"]


def test_a_verb_that_nobody_names_is_told_to_nobody() -> None:
    story = Script()
    story.producer()
    assert _told(story.send(0)) == ["asked for"]
    assert _told(story.invoke("flush")) == []


def test_a_kind_that_nobody_names_is_told_to_nobody() -> None:
    assert _told(Script().stored(0)) == []
