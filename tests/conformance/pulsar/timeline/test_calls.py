"""Which acks and nacks are about an entry."""

from __future__ import annotations

from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Event
from assay_conformance.pulsar.timeline import Consumer, Entry, Timeline

ENTRIES = [Entry("t", 1, number) for number in range(3)]


def _acked_up_to_the_second() -> tuple[Script, Event]:
    """Three messages came, the second is acknowledged cumulatively; the event of that."""
    story = Script()
    story.consumer()
    for number in range(3):
        story.message(number)
        story.received(number)
    return story, story.invoke("ack", CONSUMER, args={"messages": [2], "cumulative": True})


def _consumer(timeline: Timeline) -> Consumer:
    consumer = timeline.consumer(CONSUMER)
    assert consumer is not None
    return consumer


def test_a_cumulative_ack_is_about_its_entry_and_all_before_it() -> None:
    story, _ = _acked_up_to_the_second()
    assert asked(story, lambda one: [len(one.calls_about(_consumer(one), entry)) for entry in ENTRIES]) == [1, 1, 0]


def test_an_entry_is_asked_to_be_acknowledged_from_the_ack_on() -> None:
    story, ack = _acked_up_to_the_second()
    later = story.up("PING")
    at_once, then = asked(
        story,
        lambda one: [[one.is_ack_asked(_consumer(one), entry, at) for entry in ENTRIES] for at in (ack, later)],
    )
    assert (at_once, then) == ([False, False, False], [True, True, False])
