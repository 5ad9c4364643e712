import itertools

from assay_conformance.checks.tracker import Tracker
from assay_conformance.history.script import Script, digest_of
from assay_conformance.model.event import Ended, Frame, Invoke, Stored


def test_events_are_numbered_and_come_a_millisecond_apart() -> None:
    story = Script()
    story.producer()
    events = story.done()
    assert [event.seq for event in events] == list(range(len(events)))
    assert all(b.t_ns - a.t_ns == 1_000_000 for a, b in itertools.pairwise(events))
    assert isinstance(events[-1], Ended)


def test_every_witness_of_a_message_agrees() -> None:
    story = Script()
    story.producer()
    call, frame, entry = story.send(3), story.send_frame(3), story.stored(3)
    assert isinstance(call, Invoke)
    assert isinstance(frame, Frame)
    assert isinstance(entry, Stored)
    assert call.digest == frame.members[0].digest == entry.members[0].digest == digest_of(3)
    assert frame.unit == entry.unit


def test_time_can_be_set_and_moved() -> None:
    story = Script()
    assert story.at(500).send(0).t_ns == 500_000_000
    assert story.after(20).send(1).t_ns == 520_000_000


def test_a_reconnected_producer_is_known_to_the_tracker() -> None:
    story = Script({"t": "persistent://public/default/c1-t"})
    story.producer()
    story.cut(0)
    story.producer_again(1)
    frame = story.send_frame(0, conn=1)
    tracker = Tracker()
    for event in story.done():
        tracker.see(event)
    session = tracker.producer_of(frame)
    assert session is not None
    assert (session.topic, session.name) == ("t", "p")
    assert session.ready is not None
