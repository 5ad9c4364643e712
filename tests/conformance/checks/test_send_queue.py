"""SENDs without an answer, in order, whatever order their answers come in."""

from __future__ import annotations

from assay_conformance.checks.send_queue import SendQueue, Turns
from assay_conformance.checks.tracker import Tracker
from assay_conformance.history.script import Script


def _queue(units: int) -> SendQueue:
    """Of so many units, each of which was sent once."""
    story, tracker = Script(), Tracker()
    story.producer()
    for number in range(units):
        story.send(number)
        story.send_frame(number, sequence_id=number)
    events = story.done()
    tracker.foresight.read(events)
    for event in events:
        tracker.see(event)
    (line,) = tracker.lines.all
    return line.sessions[0].queue


def test_what_was_sent_first_is_the_head() -> None:
    queue = _queue(3)
    first, second, _ = queue
    assert queue.head is first
    queue.take(first)
    assert queue.head is second


def test_what_is_answered_out_of_turn_leaves_the_others_in_order() -> None:
    queue = _queue(4)
    first, second, third, fourth = queue
    queue.take(third)
    assert list(queue) == [first, second, fourth]


def test_of_a_unit_that_was_sent_twice_the_first_one_goes() -> None:
    queue = _queue(2)
    first, second = queue
    queue.append(first)
    queue.take(first)
    assert list(queue) == [second, first]
    queue.take(first)
    assert list(queue) == [second]


def test_what_is_not_there_takes_nothing() -> None:
    queue = _queue(2)
    first, second = queue
    queue.take(first)
    queue.take(first)
    assert list(queue) == [second]


def test_an_empty_one_has_no_head() -> None:
    assert SendQueue().head is None


def test_what_waits_under_one_key_has_its_turns() -> None:
    turns = Turns[int, str]()
    for value in ("a", "b", "b", "c"):
        turns.add(0, value)
    turns.add(1, "z")
    assert [turns.take(0) for _ in range(5)] == ["a", "b", "b", "c", None]
    assert (turns.take(1), turns.take(1)) == ("z", None)
