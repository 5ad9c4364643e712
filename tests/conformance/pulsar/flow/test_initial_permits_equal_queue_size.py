"""Flow control checks, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Event
from assay_conformance.model.facts import ClientFacts
from assay_conformance.pulsar.checks.flow.initial_permits_equal_queue_size import initial_permits_equal_queue_size

CLIENT = ClientFacts(
    agent="test",
    client="test-client",
    client_version="1",
    capabilities=frozenset(),
    settable=frozenset({"receiver_queue_size", "batch_receive_max_messages"}),
    defaults={"receiver_queue_size": 1000},
)


def judged(events: list[Event]) -> tuple[list[str], int]:
    said = trial(initial_permits_equal_queue_size, events, facts=CLIENT)
    return [finding.code for finding in said.findings], said.exercised


def test_first_permits_are_the_queue() -> None:
    story = Script()
    story.consumer(receiver_queue_size=7)
    story.flow(7)
    story.flow(3)
    assert judged(story.done()) == ([], 1)


def test_queue_that_a_batch_receive_may_overfill_may_be_larger_than_it_was_set_to() -> None:
    story = Script()
    story.consumer(receiver_queue_size=7, batch_receive_max_messages=10)
    story.flow(10)
    assert judged(story.done()) == ([], 0)


def test_default_queue_size_counts_where_none_is_set() -> None:
    story = Script()
    story.consumer()
    story.flow(1000)
    assert judged(story.done()) == ([], 1)


def test_other_first_permits_are_found() -> None:
    story = Script()
    story.consumer(receiver_queue_size=7)
    story.flow(6)
    assert judged(story.done())[0] == ["wrong-first-permits"]


def test_permits_before_success_are_found() -> None:
    story = Script()
    story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "config": {"receiver_queue_size": 7}})
    story.connected()
    topic = {"topic": story.full("t"), "subscription": "s"}
    story.up("SUBSCRIBE", consumer_id=0, request_id=1, fields=topic)
    story.flow(7)
    story.down("SUCCESS", request_id=1)
    assert judged(story.done())[0] == ["before-success"]


def test_no_permits_at_all_are_found() -> None:
    story = Script()
    story.consumer(receiver_queue_size=7)
    story.after(600)
    assert judged(story.done())[0] == ["no-permits"]


def test_consumer_that_leaves_at_once_owes_no_permits() -> None:
    story = Script()
    story.consumer(receiver_queue_size=7)
    story.cut()
    assert judged(story.done()) == ([], 0)


def test_permits_after_reconnect_are_another_requirements_matter() -> None:
    story = Script()
    story.consumer(receiver_queue_size=7)
    story.flow(7)
    story.cut()
    story.connected(1)
    story.subscribed(1)
    story.flow(5, conn=1)
    assert judged(story.done()) == ([], 1)


def test_consumer_without_queue_asks_message_by_message() -> None:
    story = Script()
    story.consumer(receiver_queue_size=0)
    story.flow(1)
    assert judged(story.done()) == ([], 0)
