"""The check of `delayed.ignored-on-exclusive-and-failover`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.delayed._histories import delayed_case, delivered, stored

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.policy import Rate
from assay_conformance.pulsar.checks.delayed.ignored_on_exclusive_and_failover import ignored_on_exclusive_and_failover


def test_exclusive_consumer_that_gets_a_delayed_message_at_once_is_accepted() -> None:
    check = trial(ignored_on_exclusive_and_failover, delivered((1_000, 50), kind="Exclusive").done(), delayed_case())
    assert (codes_of(check), check.exercised) == ([], 1)


def test_exclusive_consumer_that_has_to_wait_is_found() -> None:
    check = trial(ignored_on_exclusive_and_failover, delivered((1_000, 1_000), kind="Exclusive").done(), delayed_case())
    assert codes_of(check) == ["waited"]


def test_entry_that_is_sent_again_on_request_did_not_wait() -> None:
    story = delivered((1_000, 50), kind="Exclusive")
    story.ack_frame(0)
    story.at(1_000).message(0)
    check = trial(ignored_on_exclusive_and_failover, story.done(), delayed_case())
    assert (codes_of(check), check.exercised) == ([], 1)


def test_permits_behind_sends_that_a_publish_rate_holds_up_may_not_have_been_read() -> None:
    case = delayed_case()
    topics = tuple(msgspec.structs.replace(topic, publish_rate=Rate(messages=10)) for topic in case.topology.topics)
    case = msgspec.structs.replace(case, topology=msgspec.structs.replace(case.topology, topics=topics))
    assert (
        codes_of(trial(ignored_on_exclusive_and_failover, delivered((1_000, 1_000), kind="Exclusive").done(), case))
        == []
    )


def test_message_that_a_rate_of_dispatch_keeps_back_does_not_wait_for_its_time() -> None:
    case = delayed_case()
    topics = tuple(msgspec.structs.replace(topic, dispatch_rate=Rate(messages=1)) for topic in case.topology.topics)
    case = msgspec.structs.replace(case, topology=msgspec.structs.replace(case.topology, topics=topics))
    assert (
        codes_of(trial(ignored_on_exclusive_and_failover, delivered((1_000, 1_000), kind="Exclusive").done(), case))
        == []
    )


def test_a_message_stored_after_its_time_tells_nothing() -> None:
    story = Script()
    story.connected()
    story.subscribed(kind="Exclusive")
    story.flow(10)
    story.at(1_500)
    stored(story, 0, 1_000)
    story.message(0)
    check = trial(ignored_on_exclusive_and_failover, story.done(), delayed_case())
    assert (codes_of(check), check.exercised) == ([], 0)
    assert "stored after its delivery time" in check.undecided_because


def test_shared_consumer_has_to_wait() -> None:
    check = trial(ignored_on_exclusive_and_failover, delivered((1_000, 1_000)).done(), delayed_case())
    assert (codes_of(check), check.exercised) == ([], 0)


def test_exclusive_consumer_that_came_late_may_get_it_late() -> None:
    story = Script()
    stored(story, 0, 500)
    story.at(900).connected()
    story.subscribed(initialPosition="Earliest")
    story.flow(10)
    story.message(0)
    assert codes_of(trial(ignored_on_exclusive_and_failover, story.done(), delayed_case())) == []


def test_exclusive_consumer_whose_permits_were_used_up_may_get_it_late() -> None:
    """What came before it had to go out first, one by one."""
    story = Script()
    story.connected()
    story.subscribed(initialPosition="Earliest")
    story.flow(1)
    story.stored(0)
    stored(story, 1, 500)
    story.message(0)
    story.at(1_500).flow(1)
    story.message(1)
    assert codes_of(trial(ignored_on_exclusive_and_failover, story.done(), delayed_case())) == []


def test_exclusive_consumer_that_owes_permits_for_a_batch_may_get_it_late() -> None:
    """With one permit it was sent three messages, and grants the permits for these first."""
    story = Script()
    story.connected()
    story.subscribed(initialPosition="Earliest")
    story.flow(1)
    story.message(0, 1, 2, batch=True)
    story.flow(1)
    stored(story, 3, 500)
    story.at(1_500).flow(2)
    story.message(3)
    assert codes_of(trial(ignored_on_exclusive_and_failover, story.done(), delayed_case())) == []
