"""What a history of a Case comes to: calls, deliveries, topics, subscriptions and connections, and no times."""

from __future__ import annotations

import pytest

from assay_conformance.history.script import CONSUMER, PRODUCER, Script
from assay_conformance.machines.outcomes import Aspect, Kind, Outcomes, Value, outcomes
from assay_conformance.model.event import AgentEnded, Ending, ErrorClass, Member, Outcome


def came_to(story: Script, how: Ending = Ending.DONE) -> Outcomes:
    found = outcomes(story.done(how))
    assert found is not None
    return found


def of(found: Outcomes, kind: Kind) -> dict[str, Value]:
    return {aspect.place: value for aspect, value in found.items() if aspect.kind is kind}


def test_call_is_known_by_its_step_and_its_end() -> None:
    story = Script()
    opening = story.invoke("open_producer", PRODUCER, step=1)
    story.complete(opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert came_to(story)[Aspect(Kind.ENDS, "open_producer of step 1", "open_producer")] == ("fail timeout",)


def test_calls_of_one_step_have_numbers() -> None:
    story = Script()
    for number in range(2):
        story.send(number)
    story.ok(0)
    assert [value for _, value in sorted(of(came_to(story), Kind.ENDS).items())] == [("ok",), ("never ended",)]


def test_ends_of_all_sends_of_a_producer_are_together() -> None:
    story = Script()
    for number in range(3):
        story.send(number)
    story.ok(0)
    story.unknown(1)
    story.ok(2)
    assert of(came_to(story), Kind.ALL_ENDS) == {"producer 1": ("ok", "unknown timeout")}


def test_call_that_ends_with_its_process_has_no_end_of_its_own() -> None:
    story = Script()
    story.send(0)
    story.add(AgentEnded, reason="gone", exit_status=-11)
    found = came_to(story, Ending.AGENT_LOST)
    assert of(found, Kind.ENDS) == {}
    assert of(found, Kind.PROCESS) == {"": ("died of signal 11",)}


def test_call_that_the_agent_does_not_know_says_nothing() -> None:
    story = Script()
    story.complete(story.invoke("flush", PRODUCER, step=1), Outcome.UNSUPPORTED)
    assert of(came_to(story), Kind.ENDS) == {}


def test_last_sequence_id_and_number_of_messages_are_shown() -> None:
    story = Script()
    story.complete(story.invoke("stats", PRODUCER, step=1), last_sequence_id=4)
    story.complete(story.invoke("receive", CONSUMER, step=2), count=3)
    assert set(of(came_to(story), Kind.SHOWN).values()) == {("4",), ("3",)}


@pytest.mark.parametrize("how", [Ending.HARNESS, Ending.PEER, Ending.INTERRUPTED, Ending.DEADLINE])
def test_run_that_ended_in_trouble_says_nothing(how: Ending) -> None:
    assert outcomes(Script().done(how)) is None


def test_message_is_known_by_its_producer_and_number_though_its_payload_is_too_short_for_it() -> None:
    story = Script()
    sent = story.send(0, size=2)
    story.stored(0, members=(Member(size=2, digest=sent.digest or 0),))
    story.read_back(0)
    assert of(came_to(story), Kind.STORED) == {"t": ("1#0",)}


def test_topic_holds_what_is_read_back() -> None:
    story = Script()
    for number in (0, 2, 1, 0):
        story.stored(number)
    story.read_back(0, 1, 2, 3)
    found = came_to(story)
    assert of(found, Kind.STORED) == {"t": ("1#0", "1#1", "1#2")}
    assert of(found, Kind.STORED_AGAIN) == {"t": ("1#0",)}
    assert of(found, Kind.STORED_DISORDER) == {"t": ("1#1",)}


def test_batch_holds_its_messages() -> None:
    story = Script()
    story.stored(0, 1, 2, batch=True)
    story.read_back(0)
    assert of(came_to(story), Kind.STORED) == {"t": ("1#0", "1#1", "1#2")}


def test_subscription_is_given_what_its_consumers_are() -> None:
    story = Script()
    story.consumer(2)
    story.consumer(3, consumer_id=1)
    story.stored(0)
    story.stored(1)
    story.received(0, consumer=2)
    story.received(0, consumer=3, redelivery_count=1)
    story.read_back(0, 1)
    found = came_to(story)
    assert of(found, Kind.HANDED_OVER) == {"subscription s": ("1#0",)}
    assert of(found, Kind.REPEATED) == {"subscription s": ("1#0",)}
    assert of(found, Kind.EXTENT) == {"subscription s": ("some",)}


def test_message_behind_a_later_one_is_out_of_order() -> None:
    story = Script()
    story.consumer()
    for number in (1, 0, 2):
        story.received(number)
    assert of(came_to(story), Kind.DISORDER) == {"subscription s": ("1#0",)}


def test_message_that_comes_again_is_not_out_of_order() -> None:
    story = Script()
    story.consumer()
    for number in (0, 1, 0):
        story.received(number)
    assert of(came_to(story), Kind.DISORDER) == {"subscription s": ()}


def test_reader_is_not_its_subscription() -> None:
    story = Script()
    story.invoke("open_consumer", 4, args={"topics": ["t"], "config": {"durable": False}})
    story.received(0, consumer=4)
    assert of(came_to(story), Kind.HANDED_OVER) == {"reader 4": ("1#0",)}


def test_messages_behind_the_mark_are_left_but_for_those_that_are_acknowledged() -> None:
    story = Script()
    story.consumer()
    for number in range(4):
        story.stored(number)
    story.read_back(0, 1, 2, 3)
    story.cursor(0, 2, backlog=2)
    found = came_to(story)
    assert of(found, Kind.UNACKNOWLEDGED) == {"subscription s of t": ("1#1", "1#3")}
    assert of(found, Kind.SUBSCRIPTIONS) == {"t": ("s",)}


def test_subscription_that_is_gone_is_none_of_its_topic() -> None:
    story = Script()
    story.consumer()
    story.read_back()
    assert of(came_to(story), Kind.SUBSCRIPTIONS) == {"t": ()}


def test_who_is_registered_counts_before_the_first_close_at_the_end() -> None:
    story = Script()
    story.producer()
    story.consumer()
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=9)
    story.invoke("close", PRODUCER)
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=10)
    assert of(came_to(story), Kind.REGISTERED) == {"producer of t": ("1",), "consumer of t": ("0",)}


def test_registration_ends_with_its_connection() -> None:
    story = Script()
    story.producer()
    story.cut()
    story.invoke("close", PRODUCER)
    assert of(came_to(story), Kind.REGISTERED) == {"producer of t": ("0",)}


def test_connection_without_an_end_is_left() -> None:
    story = Script()
    story.connected(0)
    story.connected(1)
    story.closed(0)
    story.read_back()
    story.closed(1)
    assert of(came_to(story), Kind.CONNECTED) == {"": ("1",)}


def test_key_and_properties_are_content() -> None:
    story = Script()
    member = story.stored(0).members[0]
    keyed = Member(size=64, digest=1, identity=member.identity, key="k", property_digests=(7,))
    story.stored(0, batch=True, members=(keyed,))
    story.read_back(0, 1)
    assert of(came_to(story), Kind.CONTENT)["t"] == (
        "1#0: 64 bytes, key k, properties 7, codec NONE",
        "1#0: 64 bytes, no key, codec NONE",
    )
