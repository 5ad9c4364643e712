"""The events of a history by what they are."""

from __future__ import annotations

from assay_conformance.history.events import Events
from assay_conformance.history.script import Script


def _two_connections() -> Events:
    story = Script()
    story.producer()
    story.producer(2, conn=1, producer_id=1, name="q")
    story.send_frame(0)
    story.send_frame(0, handle=2, conn=1, producer_id=1)
    story.receipt(0)
    story.send_frame(1)
    return Events(story.done())


def test_frames_of_a_connection_are_those_of_all_that_are_on_it_in_order() -> None:
    events = _two_connections()
    for commands in (("SEND",), ("SEND", "SEND_RECEIPT"), ("SEND_RECEIPT", "SEND", "PING")):
        for conn in (0, 1, 2):
            assert list(events.frames_on(conn, *commands)) == [
                frame for frame in events.frames(*commands) if frame.conn == conn
            ]


def test_frames_of_several_commands_are_in_order() -> None:
    found = [frame.seq for frame in _two_connections().frames("SEND_RECEIPT", "SEND")]
    assert found == sorted(found)
    assert len(found) == 4
