"""The events of a history by what they are."""

from __future__ import annotations

from assay_conformance.history.events import Events, between, first_of, in_order
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


def test_calls_on_one_object_are_those_of_all_verbs_in_order() -> None:
    story = Script()
    calls = [story.invoke(verb, handle) for verb, handle in (("seek", 1), ("nack", 2), ("nack", 1), ("seek", 1))]
    story.complete(calls[3])
    story.complete(calls[0])
    events = Events(story.done())
    assert [call.verb for call in events.invokes_of(1, "nack", "seek")] == ["seek", "nack", "seek"]
    assert [call.verb for call in events.invokes_of(2, "nack")] == ["nack"]
    assert [end.op for end in events.completions_of(1, "seek")] == [calls[3].op, calls[0].op]
    assert not events.completions_of(2, "seek")


def test_what_lies_between_two_events_has_a_first_and_a_last() -> None:
    frames = _two_connections().frames("SEND")
    whole = between(frames, None, None)
    assert (whole.first, whole.last) == (frames[0], frames[2])
    assert list(between(frames, frames[0], frames[2])) == [frames[1]]
    assert between(frames, frames[2], None).first is None
    assert between(frames, None, frames[0]).last is None


def test_first_of_several_events_passes_over_those_that_never_came() -> None:
    early, late = in_order(reversed(_two_connections().frames("PRODUCER")))
    assert early.seq < late.seq
    assert first_of(late, None, early) is early
    assert first_of(None) is None
