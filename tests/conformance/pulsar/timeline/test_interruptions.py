"""Interruptions of producers and consumers, and what was tried after them."""

from __future__ import annotations

from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.history.script import Script
from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.timeline import Timeline


def _met(timeline: Timeline) -> list[tuple[Event, Event, list[Event], Event | None]]:
    return [(one.event, one.began, list(one.attempts), one.over) for one in timeline.interruptions]


def _refused(story: Script, conn: int = 1) -> tuple[Frame, Frame]:
    request = story.producer_asks(conn)
    return request, story.down("ERROR", conn, request_id=request.request_id, fields={"error": "ProducerBusy"})


def test_interruptions_of_one_outage_follow_each_other_until_the_broker_admits_it() -> None:
    story = Script()
    story.producer()
    lost = story.cut()
    opened = story.opened(1)
    story.up("CONNECT", 1)
    story.down("CONNECTED", 1)
    request, refusal = _refused(story)
    admitted = story.producer_ready(1)
    again = story.events[-2]
    assert asked(story, _met) == [(lost, lost, [opened, request], refusal), (refusal, lost, [again], admitted)]


def test_outage_behind_an_admission_begins_anew() -> None:
    story = Script()
    story.producer()
    story.cut()
    story.producer_again(1)
    lost = story.cut(1)
    assert asked(story, _met)[-1] == (lost, lost, [], None)


def test_what_an_open_call_meets_is_no_interruption() -> None:
    story = Script()
    story.invoke("open_producer", 1, args={"topic": "t"})
    story.connected(0)
    _refused(story, 0)
    assert asked(story, _met) == []


def test_end_of_a_connection_that_a_consumer_had_left_sets_nobody_back() -> None:
    story = Script()
    story.consumer()
    close = story.down("CLOSE_CONSUMER", consumer_id=0)
    story.connected(1)
    admitted = story.subscribed(1)
    story.cut(0)
    assert [(one.event, one.over) for one in asked(story, lambda timeline: timeline.interruptions)] == [
        (close, admitted)
    ]
