"""The check of `topics.reconnects-to-assigned-broker`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.topics._moving import judged

from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.pulsar.checks.topics.reconnects_to_assigned_broker import reconnects_to_assigned_broker

URL = {"assignedBrokerServiceUrl": "pulsar://other:6650"}


def _told(**fields: str) -> Script:
    story = Script()
    story.producer()
    story.down("CLOSE_PRODUCER", producer_id=0, fields=dict(fields))
    return story


def _looks_up(story: Script) -> None:
    story.up("LOOKUP", request_id=50, fields={"topic": story.full("t")})


def test_producer_goes_where_it_was_told() -> None:
    story = _told(**URL)
    story.producer_again()
    assert judged(reconnects_to_assigned_broker, story) == ([], 1)


def _goes_there(opened_ms: int, admitted_ms: int, registered_ms: int) -> Script:
    story = _told(**URL)
    story.at(opened_ms).opened(1, broker=1, url=URL["assignedBrokerServiceUrl"])
    story.at(admitted_ms).down("CONNECTED", 1)
    story.at(registered_ms).producer_ready(1)
    return story


@pytest.mark.parametrize("ms", [(300, 310, 320), (100, 3_000, 3_100)], ids=["at-once", "broker-that-answers-late"])
def test_producer_that_goes_there_at_once_is_accepted(ms: tuple[int, int, int]) -> None:
    assert judged(reconnects_to_assigned_broker, _goes_there(*ms)) == ([], 1)


@pytest.mark.parametrize("ms", [(3_000, 3_010, 3_020), (100, 110, 3_000)], ids=["before-connecting", "when-connected"])
def test_producer_that_pauses_first_is_found(ms: tuple[int, int, int]) -> None:
    assert judged(reconnects_to_assigned_broker, _goes_there(*ms)) == (["paused"], 1)


def test_producer_that_a_busy_machine_holds_up_is_not_judged() -> None:
    story = _goes_there(3_000, 3_010, 3_020)
    story.at(3_100).load(3_000, agent_wait_ms=400)
    assert judged(reconnects_to_assigned_broker, story)[0] == []


def test_lookup_of_what_was_told_is_found() -> None:
    story = _told(**URL)
    _looks_up(story)
    story.producer_again()
    assert judged(reconnects_to_assigned_broker, story)[0] == ["asked-first"]


def test_producer_that_was_sent_away_before_its_answer_may_ask_when_that_is_late() -> None:
    story = Script()
    story.producer()
    story.closed()
    story.connected(1)
    story.producer_asks(1)
    story.down("CLOSE_PRODUCER", 1, producer_id=0, fields=dict(URL))
    story.up("LOOKUP", 1, request_id=50, fields={"topic": story.full("t")})
    story.producer_again(1)
    assert judged(reconnects_to_assigned_broker, story) == ([], 0)


@pytest.mark.parametrize(("closed", "codes"), [(False, []), (True, ["asked-first"])])
def test_consumer_of_its_topic_that_had_no_answer_may_ask(*, closed: bool, codes: list[str]) -> None:
    """It gives its registration up by itself, where the application has not closed it, and begins anew."""
    story = Script()
    story.producer()
    opening = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})
    story.up("SUBSCRIBE", consumer_id=0, request_id=40, fields={"topic": story.full("t"), "subscription": "s"})
    story.complete(opening)
    if closed:
        story.invoke("close", CONSUMER, args={"handle": CONSUMER})
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=41)
    story.down("CLOSE_PRODUCER", producer_id=0, fields=dict(URL))
    _looks_up(story)
    story.producer_again()
    assert judged(reconnects_to_assigned_broker, story)[0] == codes


def test_client_that_closes_by_itself_what_the_broker_closed_may_not_ask() -> None:
    """As pulsar-rs does, which then looks the topic up."""
    story = _told(**URL)
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=41)
    _looks_up(story)
    story.producer_again()
    assert judged(reconnects_to_assigned_broker, story)[0] == ["asked-first"]


def test_client_that_closes_by_itself_and_goes_where_it_was_told_is_accepted() -> None:
    story = _told(**URL)
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=41)
    story.producer_again()
    assert judged(reconnects_to_assigned_broker, story) == ([], 1)


def test_producer_that_was_not_told_has_to_ask() -> None:
    story = _told()
    _looks_up(story)
    story.producer_again()
    assert judged(reconnects_to_assigned_broker, story) == ([], 0)


def test_producer_may_ask_when_it_was_not_let_in_there() -> None:
    story = _told(**URL)
    story.fired(0, "refuse")
    _looks_up(story)
    story.producer_again()
    assert judged(reconnects_to_assigned_broker, story)[0] == []


@pytest.mark.parametrize(("before", "codes"), [("refuse", []), (None, ["asked-first"])])
def test_lookup_of_a_consumer_that_was_not_let_in_there_says_nothing(before: str | None, codes: list[str]) -> None:
    story = Script()
    story.consumer(conn=1)
    story.producer()
    story.down("CLOSE_CONSUMER", 1, consumer_id=0, fields=dict(URL))
    if before is not None:
        story.fired(0, before)
    story.down("CLOSE_PRODUCER", producer_id=0, fields=dict(URL))
    _looks_up(story)
    story.producer_again()
    assert judged(reconnects_to_assigned_broker, story)[0] == codes


def _told_behind_a_lost_connection() -> Script:
    story = Script()
    story.producer()
    story.opened(1, broker=1, url=URL["assignedBrokerServiceUrl"])
    story.cut(1)
    return story


def _is_told_and_looks_up(story: Script) -> list[str]:
    story.down("CLOSE_PRODUCER", producer_id=0, fields=dict(URL))
    _looks_up(story)
    story.producer_again()
    return judged(reconnects_to_assigned_broker, story)[0]


def test_producer_may_ask_when_its_connection_to_that_broker_was_lost_just_then() -> None:
    assert _is_told_and_looks_up(_told_behind_a_lost_connection()) == []


def test_lookup_beside_a_new_connection_to_that_broker_is_found() -> None:
    story = _told_behind_a_lost_connection()
    story.opened(2, broker=1, url=URL["assignedBrokerServiceUrl"])
    assert _is_told_and_looks_up(story) == ["asked-first"]


def test_lookup_behind_a_lost_connection_to_another_broker_is_found() -> None:
    story = Script()
    story.producer()
    story.opened(1, broker=2, url="pulsar://third:6650")
    story.cut(1)
    assert _is_told_and_looks_up(story) == ["asked-first"]


def test_lookup_of_a_consumer_that_was_told_nothing_says_nothing() -> None:
    story = Script()
    story.consumer(conn=1)
    story.producer()
    story.down("CLOSE_CONSUMER", 1, consumer_id=0)
    story.down("CLOSE_PRODUCER", producer_id=0, fields=dict(URL))
    _looks_up(story)
    story.producer_again()
    assert judged(reconnects_to_assigned_broker, story) == ([], 1)


def test_lookup_of_a_consumer_that_was_refused_says_nothing() -> None:
    story = Script()
    story.consumer(conn=1)
    story.producer()
    named = {"topic": story.full("t"), "subscription": "s"}
    story.up("SUBSCRIBE", 1, consumer_id=0, request_id=60, fields=named)
    story.down("ERROR", 1, request_id=60, fields={"error": "PersistenceError"})
    story.down("CLOSE_PRODUCER", producer_id=0, fields=dict(URL))
    _looks_up(story)
    story.producer_again()
    assert judged(reconnects_to_assigned_broker, story) == ([], 1)


def test_lookup_of_somebody_who_opens_says_nothing() -> None:
    story = _told(**URL)
    story.invoke("open_consumer", CONSUMER, args={"topics": ["t"]})
    _looks_up(story)
    story.producer_again()
    assert judged(reconnects_to_assigned_broker, story)[0] == []


@pytest.mark.parametrize(("sent_away", "codes"), [(True, []), (False, ["asked-first"])])
def test_consumers_of_two_clients_that_have_one_id_ask_each_for_itself(sent_away: bool, codes: list[str]) -> None:
    story = Script()
    story.consumer(conn=0)
    story.consumer(CONSUMER + 1, conn=1, subscription="other")
    if sent_away:
        story.down("CLOSE_CONSUMER", 0, consumer_id=0, fields={})
    story.down("CLOSE_CONSUMER", 1, consumer_id=0, fields=URL)
    story.up("LOOKUP", 0, request_id=70, fields={"topic": story.full("t")})
    if sent_away:
        story.subscribed(0)
    story.subscribed(1, subscription="other")
    assert judged(reconnects_to_assigned_broker, story)[0] == codes


def _refused_there(*, looks_up: bool) -> Script:
    """A producer goes where it was told, and is refused there for now."""
    story = _told(**URL)
    story.opened(1, broker=1, url=URL["assignedBrokerServiceUrl"])
    story.down("CONNECTED", 1)
    asked = story.producer_asks(1)
    story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "ServiceNotReady"})
    story.after(100)
    if looks_up:
        _looks_up(story)
    story.producer_ready(1)
    return story


def test_producer_that_is_refused_where_it_was_told_to_go_looks_its_topic_up() -> None:
    assert judged(reconnects_to_assigned_broker, _refused_there(looks_up=True)) == ([], 2)


def test_producer_that_keeps_the_address_where_it_was_refused_is_found() -> None:
    assert judged(reconnects_to_assigned_broker, _refused_there(looks_up=False))[0] == ["kept-address"]
