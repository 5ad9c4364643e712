"""What happened to the messages of a consumer, in order, and what ends a wait for them."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming
from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.model.event import Closed, Frame, Outcome
from assay_conformance.pulsar.timeline import Entry, Timeline
from assay_conformance.pulsar.timeline.moments import (
    AckWritten,
    Moment,
    SessionOver,
    SettleCalled,
    SettleCompleted,
    known_ns,
    taken,
)


def _course(timeline: Timeline) -> list[Moment]:
    (consumer,) = timeline.consumers
    return [*timeline.moments(consumer)]


def _names(story: Consuming) -> list[str]:
    return asked(story, lambda timeline: [type(moment).__name__ for moment in _course(timeline)])


def test_moments_come_in_the_order_of_their_events() -> None:
    story = Consuming()
    story.gets(0)
    story.nack(1)
    story.redeliver_frame(0)
    story.close_consumer()
    assert _names(story)[:5] == ["Dispatched", "Delivered", "SettleCalled", "SettleCompleted", "RedeliverWritten"]


@pytest.mark.parametrize(("messages", "times"), [((1,), 0), ((1, 2), 2)])
def test_call_that_failed_was_asked_where_it_may_have_been_taken_for_some_messages(
    messages: tuple[int, ...], times: int
) -> None:
    story = Consuming()
    story.gets(0, 1)
    story.ack(*messages, outcome=Outcome.FAIL)
    assert _names(story).count("SettleCalled") == times
    assert "SettleCompleted" not in _names(story)


def _sessions(story: Consuming, kind: type[SettleCalled | SettleCompleted]) -> list[bool]:
    def question(timeline: Timeline) -> list[bool]:
        return [moment.session is not None for moment in _course(timeline) if isinstance(moment, kind)]

    return asked(story, question)


def test_call_about_a_message_of_a_lost_connection_has_no_session() -> None:
    story = Consuming()
    story.gets(0)
    story.nack(1)
    story.cut()
    story.again()
    story.nack(1)
    assert _sessions(story, SettleCalled) == [True, False]


def _taken(story: Consuming, *entries: Entry) -> list[list[Entry]]:
    """What each moment takes out of these, in order."""

    def question(timeline: Timeline) -> list[list[Entry]]:
        waiting = dict.fromkeys(entries)
        found = ([entry for entry, _ in taken(waiting, moment)] for moment in _course(timeline))
        return [each for each in found if each]

    return asked(story, question)


@pytest.mark.parametrize(("named", "ended"), [((0,), [0]), ((), [0, 1])])
def test_request_without_ids_asks_for_everything(named: tuple[int, ...], ended: list[int]) -> None:
    story = Consuming()
    story.gets(0, 1)
    story.redeliver_frame(*named)
    topic = asked(story, lambda timeline: timeline.consumer_sessions.all[0].topic)
    assert _taken(story, *(Entry(topic, 1, entry) for entry in (0, 1)))[0] == [Entry(topic, 1, one) for one in ended]


def test_entry_of_another_topic_is_not_ended() -> None:
    story = Consuming()
    story.redeliver_frame()
    assert _taken(story, Entry("another", 1, 0)) == []


def test_seek_ends_what_was_held_before_the_connection_does() -> None:
    story = Consuming()
    story.up("SEEK", consumer_id=0, request_id=7)
    story.cut()
    ends = asked(story, lambda timeline: [type(one.event) for one in _course(timeline) if isinstance(one, SessionOver)])
    assert ends == [Frame, Closed]


def test_call_is_known_only_when_it_has_completed() -> None:
    story = Consuming()
    story.gets(0)
    nack, completion = story.nack(1)
    request = story.redeliver_frame(0)

    def question(timeline: Timeline) -> list[int | None]:
        call = next(one.call for one in _course(timeline) if isinstance(one, SettleCalled))
        return [known_ns(call, nack), known_ns(call, request)]

    assert asked(story, question) == [None, completion.called_ns]


def test_ack_of_messages_is_written_and_one_that_reports_damage_is_none() -> None:
    story = Consuming()
    story.gets(0, 1)
    story.ack_frame(0)
    story.up("ACK", consumer_id=0, ack_type="Individual", fields={"validation_error": "ChecksumMismatch"})
    story.cumulative_frame(1)
    wrote = asked(story, lambda timeline: [one for one in _course(timeline) if isinstance(one, AckWritten)])
    assert [(one.is_cumulative, one.reached) for one in wrote] == [(False, Entry("t", 1, 0)), (True, Entry("t", 1, 1))]
