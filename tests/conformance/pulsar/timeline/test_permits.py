"""Permits of a consumer on one connection: what was granted, and what was charged for messages."""

from __future__ import annotations

from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Event, Sides
from assay_conformance.pulsar.timeline import PermitAccount, Timeline


def _story(queue: int = 4) -> Script:
    story = Script()
    story.consumer(receiver_queue_size=queue)
    return story


def _broker(timeline: Timeline) -> PermitAccount:
    return timeline.broker_account(timeline.consumer_sessions.all[0])


def _only(timeline: Timeline) -> PermitAccount:
    (account,) = timeline.accounts
    return account


def _outstanding(story: Script, *moments: Event) -> list[int]:
    return asked(story, lambda timeline: [_only(timeline).at(moment).available for moment in moments])


def test_balance_at_any_moment_is_what_was_granted_and_not_charged_by_then() -> None:
    story = _story()
    first = story.flow(4)
    one, batch = story.message(0), story.message(1, 2, batch=True)
    again = story.flow(2)
    last = story.message(3)
    assert _outstanding(story, first, one, batch, again, last) == [4, 3, 1, 3, 2]


def test_messages_that_an_ack_set_takes_out_are_not_charged() -> None:
    story = _story()
    story.flow(4)
    batch = story.message(0, 1, 2, batch=True, ack_sets=((0b100,),))
    balance = asked(story, lambda timeline: _only(timeline).at(batch))
    assert (balance.charged, balance.filtered, balance.last_filtered) == (1, 2, batch)


def test_messages_that_a_fault_swallowed_are_charged_by_the_broker_alone() -> None:
    story = _story()
    story.flow(4)
    lost = story.message(0, sides=Sides.SENDER)
    both = asked(
        story,
        lambda timeline: [account.at(lost).available for account in (_only(timeline), _broker(timeline))],
    )
    assert both == [4, 3]


def test_permits_are_left_since_the_flow_that_found_none() -> None:
    story = _story(queue=1)
    story.flow(1)
    story.message(0)
    since = story.flow(2)
    story.flow(3)
    assert asked(story, lambda timeline: _broker(timeline).left) == (5, since)


def test_messages_that_an_ack_set_takes_out_leave_their_permits() -> None:
    story = _story()
    granted = story.flow(4)
    story.message(0, 1, 2, batch=True, ack_sets=((0b100,),))
    assert asked(story, lambda timeline: _broker(timeline).left) == (
        3,
        granted,
    )


def test_permits_that_come_behind_the_end_of_a_session_reach_no_consumer() -> None:
    story = _story()
    granted = story.flow(1)
    story.down("CLOSE_CONSUMER", consumer_id=0, request_id=90)
    story.flow(4)
    assert asked(story, lambda timeline: _broker(timeline).left) == (
        1,
        granted,
    )


def test_consumer_that_pauses_grants_by_no_rule_from_then_on() -> None:
    story = _story()
    story.flow(4)
    pause = story.invoke("pause", CONSUMER)
    story.flow(1)
    account = asked(story, _only)
    assert ([grant.permits for grant in account.grants], account.cut_off) == ([4], pause)


def test_session_without_a_queue_of_its_own_has_no_account() -> None:
    assert asked(_story(queue=0), lambda timeline: timeline.accounts) == []


def test_nothing_more_is_due_from_the_first_of_a_sessions_ends_on() -> None:
    story = _story()
    seek = story.up("SEEK", consumer_id=0, request_id=90)
    closed = story.cut()
    ends = asked(story, lambda timeline: timeline.consumer_sessions.ends(timeline.consumer_sessions.all[0]))
    assert ends == [seek, closed]
