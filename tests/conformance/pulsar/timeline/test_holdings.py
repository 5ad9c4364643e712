"""Holdings: what topics hold of each producer's messages, and what no possible world explains."""

from __future__ import annotations

from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.judging.worlds import Kind
from assay_conformance.model.event import Fate, Sides
from assay_conformance.pulsar.timeline import Timeline
from assay_conformance.pulsar.timeline.holdings import STANDING, holdings, ordered_holdings


def _sent(count: int = 3) -> Script:
    """All of them leave, and are reported as sent."""
    story = Script()
    story.producer()
    for number in range(count):
        story.send(number)
        story.send_frame(number)
    for number in range(count):
        story.ok(number)
    return story


def _found(timeline: Timeline) -> list[tuple[Kind, int | None, int]]:
    """Kinds, with the number of the message and of the entries."""
    (holding,) = holdings(timeline)
    found = holding.contradictions(lambda send: STANDING[send.outcome], once=True)
    return [(one.kind, None if one.send is None else one.send.invoke.number, len(one.entries)) for one in found]


def test_what_is_stored_once_and_in_order_is_explained() -> None:
    story = _sent()
    for number in range(3):
        story.stored(number)
    story.read_back(0, 1, 2)
    assert asked(story, _found) == []


def test_a_loss_names_the_send_and_a_copy_its_entries() -> None:
    story = _sent()
    for number in (0, 1, 1):
        story.stored(number)
    story.read_back(0, 1, 2)
    assert sorted(asked(story, _found), key=str) == [(Kind.LOST, 2, 0), (Kind.TWICE, 1, 2)]


def test_nothing_is_lost_before_the_last_word_on_the_topic() -> None:
    assert asked(_sent(), _found) == []


def test_nothing_is_lost_once_a_fault_made_up_an_answer() -> None:
    story = _sent()
    story.receipt(0, sides=Sides.RECEIVER, fate=Fate.INJECTED)
    story.read_back()
    assert asked(story, _found) == []


def test_bursts_are_left_out() -> None:
    story = _sent()
    story.invoke("burst", PRODUCER)
    assert asked(story, holdings) == []


def test_messages_for_later_promise_no_order() -> None:
    story = _sent()
    story.send(3, deliver_after_ms=10)
    counts = asked(story, lambda timeline: (len(holdings(timeline)), len([*ordered_holdings(timeline)])))
    assert counts == (1, 0)
