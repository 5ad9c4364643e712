"""How often a producer or consumer comes back, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.resend.in_flight import codes_of

from assay_conformance.checks.trial import ANY_CLIENT, trial
from assay_conformance.history.script import CONSUMER, PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.connection.registers_once import registers_once

LATER_MS = 200


def back() -> Script:
    """A producer that lost its connection, and is back."""
    story = Script()
    story.producer()
    story.cut()
    story.producer_again()
    story.after(LATER_MS)
    return story


def test_producer_that_comes_back_once_is_accepted() -> None:
    assert judged(registers_once, back()) == ([], 1)


def test_producer_that_registers_again_although_it_is_back_is_found() -> None:
    story = back()
    story.producer_ready(1)
    assert judged(registers_once, story)[0] == ["registered-again"]


def test_producer_that_its_client_closes_when_it_is_back_is_found() -> None:
    story = back()
    story.up("CLOSE_PRODUCER", 1, producer_id=0, request_id=50)
    story.producer_ready(1)
    assert judged(registers_once, story)[0] == ["closed-again"]


def test_consumer_that_subscribes_again_although_it_is_back_is_found() -> None:
    story = Script()
    story.consumer()
    story.cut()
    story.connected(1)
    story.subscribed(1)
    story.after(LATER_MS)
    story.subscribed(1)
    assert judged(registers_once, story)[0] == ["registered-again"]


def closed_and_another() -> Script:
    """A consumer, which was closed, and another one of its subscription, both of one connection, which is lost."""
    story = Script()
    story.consumer()
    story.complete(story.invoke("close", CONSUMER, args={"handle": CONSUMER}))
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=50)
    story.consumer(CONSUMER + 1, consumer_id=1)
    story.cut()
    story.connected(1)
    return story


@pytest.mark.parametrize("ids", [(1, 0), (0, 1)])
def test_closed_consumer_that_comes_back_is_not_taken_for_the_one_that_is_open(ids: tuple[int, int]) -> None:
    story = closed_and_another()
    for consumer_id in ids:
        story.subscribed(1, consumer_id=consumer_id)
        story.after(LATER_MS)
    assert judged(registers_once, story)[0] == []


def test_consumer_that_comes_back_under_two_ids_that_no_other_had_is_found() -> None:
    story = closed_and_another()
    for consumer_id in (1, 2):
        story.subscribed(1, consumer_id=consumer_id)
        story.after(LATER_MS)
    assert judged(registers_once, story)[0] == ["registered-again"]


def test_producer_that_registers_on_another_connection_too_is_found() -> None:
    story = back()
    story.producer_again(2)
    assert judged(registers_once, story)[0] == ["registered-again"]


def test_producer_that_its_application_closes_is_accepted() -> None:
    story = back()
    story.invoke("close", PRODUCER, args={"handle": PRODUCER})
    story.up("CLOSE_PRODUCER", 1, producer_id=0, request_id=50)
    assert judged(registers_once, story) == ([], 1)


@pytest.mark.parametrize("command", ["CLOSE_PRODUCER", "SEND_ERROR"])
def test_producer_that_its_broker_sends_away_comes_back_again(command: str) -> None:
    story = back()
    story.down(command, 1, producer_id=0, sequence_id=0, fields={"error": "UnknownError"})
    story.producer_ready(1)
    assert judged(registers_once, story)[0] == []


def test_producer_whose_opening_failed_may_be_closed_by_its_client() -> None:
    story = Script()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected()
    story.producer_ready()
    story.complete(opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=50)
    assert judged(registers_once, story) == ([], 0)


def test_consumer_that_seeks_may_subscribe_again_by_itself() -> None:
    story = Script()
    story.consumer()
    story.up("SEEK", consumer_id=0, request_id=50)
    story.down("SUCCESS", request_id=50)
    story.subscribed()
    assert judged(registers_once, story)[0] == []


def test_consumer_of_a_pattern_may_close_what_it_has_of_a_topic() -> None:
    story = Script()
    args = {"topics": ["t"], "pattern": "t.*", "subscription": "s"}
    opening = story.invoke("open_consumer", CONSUMER, args=args)
    story.connected()
    story.subscribed()
    story.complete(opening)
    story.after(LATER_MS)
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=50)
    assert judged(registers_once, story) == ([], 0)


def test_consumer_that_its_application_unsubscribes_may_be_closed_for_that() -> None:
    story = Script()
    story.consumer()
    story.invoke("unsubscribe", CONSUMER, args={"consumer": CONSUMER})
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=50)
    assert judged(registers_once, story) == ([], 0)


@pytest.mark.parametrize(("error", "codes"), [({"error": "NotAllowedError"}, []), ({}, ["closed-again"])])
def test_partitions_that_came_are_closed_when_one_that_was_found_with_them_is_refused(
    error: dict[str, str], codes: list[str]
) -> None:
    story = Script()
    story.producer(topic="t-partition-0")
    story.up("PARTITIONED_METADATA", request_id=70, fields={"topic": story.full("t")})
    story.down("PARTITIONED_METADATA_RESPONSE", request_id=70, fields={"response": "Success", "partitions": 3})
    story.up("LOOKUP", request_id=71, fields={"topic": f"{story.full('t')}-partition-2"})
    story.down("LOOKUP_RESPONSE", request_id=71, fields={"response": "Failed" if error else "Connect", **error})
    story.producer_ready(producer_id=1, topic="t-partition-1")
    story.up("CLOSE_PRODUCER", producer_id=1, request_id=72)
    assert judged(registers_once, story)[0] == codes


@pytest.mark.parametrize(("waits_ms", "codes"), [(100, ["closed-again"]), (40_000, [])])
def test_return_that_took_as_long_as_an_operation_may_be_given_up(waits_ms: int, codes: list[str]) -> None:
    story = Script()
    story.producer()
    story.cut()
    story.connected(1)
    story.after(waits_ms)
    story.producer_ready(1)
    story.up("CLOSE_PRODUCER", 1, producer_id=0, request_id=50)
    assert judged(registers_once, story)[0] == codes


@pytest.mark.parametrize(("stood_still_ms", "codes"), [(1_200, []), (50, ["closed-again"])])
def test_producer_whose_client_stood_still_until_its_operation_timed_out_may_be_closed(
    stood_still_ms: int, codes: list[str]
) -> None:
    story = back()
    story.load(LATER_MS)
    story.after(1_200).up("CLOSE_PRODUCER", 1, producer_id=0, request_id=50)
    story.load(1_200, loop_lag_ms=stood_still_ms)
    facts = msgspec.structs.replace(ANY_CLIENT, fixed={"operation_timeout_ms": 1_000})
    check = trial(registers_once, story.done(), facts=facts)
    assert (codes_of(check), bool(check.undecided_because)) == (codes, not codes)
