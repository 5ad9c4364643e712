"""The check of `topics.follows-migration`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.case import ClientConfig, Step, Who
from assay_conformance.model.event import ErrorClass, Fate, Fired, Outcome, Sides
from assay_conformance.pulsar.checks.topics.follows_migration import follows_migration

TOLD = {"resource_id": 0, "resource_type": "Producer", "brokerServiceUrl": "pulsar://b:1"}
MIGRATED = msgspec.structs.replace(ANY_CASE, steps=(Step(Who.BROKER, "migrate", {"topic": "t", "broker": 1}),))


def test_client_that_was_cut_off_may_not_have_heard_where_its_topic_went() -> None:
    story = Script()
    story.producer()
    story.down("TOPIC_MIGRATED", fields=TOLD)
    story.cut()
    story.opened(1, 0)
    story.producer_asks(1)
    assert codes_of(trial(follows_migration, story.at(5_000).done(), MIGRATED)) == []


def _migrated(broker: int | None) -> Check:
    story = Script()
    story.producer()
    story.down("TOPIC_MIGRATED", fields=TOLD)
    if broker is not None:
        story.opened(1, broker)
        story.up("CONNECT", 1)
        story.down("CONNECTED", 1)
        story.producer_asks(1)
    return trial(follows_migration, story.at(5_000).done(), MIGRATED)


@pytest.mark.parametrize(("broker", "codes"), [(1, []), (0, ["stayed", "never-came"]), (None, ["never-came"])])
def test_producer_is_to_register_where_its_topic_went(broker: int | None, codes: list[str]) -> None:
    check = _migrated(broker)
    assert (codes_of(check), check.exercised) == (codes, int(not codes))


@pytest.mark.parametrize(("error", "codes"), [("TopicTerminatedError", []), ("NotAllowedError", ["never-came"])])
def test_producer_that_sends_no_more_need_not_follow_its_topic(error: str, codes: list[str]) -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": error})
    story.down("TOPIC_MIGRATED", fields=TOLD)
    check = trial(follows_migration, story.at(5_000).done(), MIGRATED)
    assert codes_of(check) == codes


def _told_and_left(story: Script, after_ms: int = 10) -> list[str]:
    """Its producer is told that the topic went away, leaves the connection, and comes back to where it was."""
    story.down("TOPIC_MIGRATED", fields=TOLD)
    story.after(after_ms).closed()
    story.opened(1, 0)
    story.producer_asks(1)
    check = trial(follows_migration, story.at(9_000).done(), MIGRATED)
    return codes_of(check)


@pytest.mark.parametrize(
    ("fate", "after_ms", "codes"),
    [
        (Fate.ALTERED, 10, []),
        (Fate.PASSED, 10, ["stayed", "never-came"]),
        (Fate.ALTERED, 3_000, ["stayed", "never-came"]),
    ],
    ids=["spoilt", "whole", "spoilt long ago"],
)
def test_client_that_left_over_what_was_spoilt_may_not_have_heard_where_its_topic_went(
    fate: Fate, after_ms: int, codes: list[str]
) -> None:
    story = Script()
    story.producer()
    story.consumer()
    story.message(0, fate=fate)
    assert _told_and_left(story, after_ms) == codes


@pytest.mark.parametrize(("action", "codes"), [("inject", []), ("delay", ["stayed", "never-came"])])
def test_client_that_left_over_what_was_made_up_may_not_have_heard_where_its_topic_went(
    action: str, codes: list[str]
) -> None:
    story = Script()
    story.producer()
    story.add(Fired, fault=0, action=action, conn=0)
    assert _told_and_left(story) == codes


@pytest.mark.parametrize(("first", "codes"), [(Sides.SENDER, []), (Sides.BOTH, ["stayed", "never-came"])])
def test_client_that_left_over_a_receipt_ahead_may_not_have_heard_where_its_topic_went(
    first: Sides, codes: list[str]
) -> None:
    story = Script()
    story.producer()
    for number in range(2):
        story.send_frame(number)
    story.receipt(0, sides=first)
    story.receipt(1)
    assert _told_and_left(story) == codes


def test_error_in_answer_to_a_request_is_no_reason_to_leave_unread_where_its_topic_went() -> None:
    story = Script()
    story.producer()
    story.down("ERROR", request_id=60, fields={"error": "PersistenceError"})
    assert _told_and_left(story) == ["stayed", "never-came"]


@pytest.mark.parametrize(("end_ms", "codes"), [(2_800, []), (5_000, ["never-came"])])
def test_client_that_cannot_look_its_topic_up_there_waits_to_ask_again(end_ms: int, codes: list[str]) -> None:
    story = Script()
    story.producer()
    story.down("TOPIC_MIGRATED", fields=TOLD)
    story.opened(1, 1)
    story.at(1_000).down("LOOKUP_RESPONSE", 1, request_id=7, fields={"error": "ServiceNotReady"})
    check = trial(follows_migration, story.at(end_ms).done(), MIGRATED)
    assert codes_of(check) == codes


@pytest.mark.parametrize(("end_ms", "codes"), [(3_000, []), (5_000, ["never-came"])])
def test_client_whose_look_up_is_not_answered_waits_as_long_as_an_operation_may_take(
    end_ms: int, codes: list[str]
) -> None:
    story = Script()
    story.producer()
    story.down("TOPIC_MIGRATED", fields=TOLD)
    story.opened(1, 1)
    story.at(100).down("LOOKUP_RESPONSE", 1, request_id=7, fate=Fate.CUT, sides=Sides.SENDER)
    config = ClientConfig(client={"operation_timeout_ms": 1_000})
    case = msgspec.structs.replace(MIGRATED, config=config)
    facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"operation_timeout_ms"}))
    assert codes_of(trial(follows_migration, story.at(end_ms).done(), case, facts)) == codes


@pytest.mark.parametrize(("clients", "codes"), [((7,), ["stayed", "never-came"]), ((7, 8), [])])
def test_producer_of_another_client_has_an_id_of_its_own(clients: tuple[int, ...], codes: list[str]) -> None:
    story = Script()
    for conn, client in enumerate(clients):
        story.complete(story.invoke("open_client", client))
        story.invoke("open_producer", PRODUCER + conn, args={"topic": "t", "client": client})
    story.connected(0)
    story.producer_asks(0, name="p1")
    story.producer_ready(0, name="p1")
    story.down("TOPIC_MIGRATED", fields=TOLD)
    story.opened(1, 0)
    story.producer_asks(1, name="p2")
    check = trial(follows_migration, story.at(1_000).done(), MIGRATED)
    assert codes_of(check) == codes[:1]


@pytest.mark.parametrize("told_first", [True, False])
def test_producer_whose_opening_failed_need_not_follow_its_topic(told_first: bool) -> None:
    story = Script()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected()
    story.producer_asks()
    if told_first:
        story.down("TOPIC_MIGRATED", fields=TOLD)
    story.complete(opening, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT)
    if not told_first:
        story.down("TOPIC_MIGRATED", fields=TOLD)
    assert codes_of(trial(follows_migration, story.at(5_000).done(), MIGRATED)) == []


def test_producer_that_is_closed_need_not_follow_its_topic_nor_need_its_namesake_in_another_client() -> None:
    story = Script()
    story.producer()
    story.down("TOPIC_MIGRATED", fields=TOLD)
    story.complete(story.invoke("close", PRODUCER))
    story.opened(1, 0)
    story.producer_asks(1)
    assert codes_of(trial(follows_migration, story.at(5_000).done(), MIGRATED)) == []


def _refused_where_it_went(error: str) -> Check:
    story = Script()
    story.producer()
    story.down("TOPIC_MIGRATED", fields=TOLD)
    story.connected(1)
    story.up("LOOKUP", 1, request_id=9, fields={"topic": story.full("t")})
    story.down("LOOKUP_RESPONSE", 1, request_id=9, fields={"response": "Failed", "error": error})
    return trial(follows_migration, story.at(5_000).done(), MIGRATED)


@pytest.mark.parametrize(("error", "codes"), [("NotAllowedError", []), ("ServiceNotReady", ["never-came"])])
def test_producer_that_is_refused_for_good_where_its_topic_went_has_come(error: str, codes: list[str]) -> None:
    assert codes_of(_refused_where_it_went(error)) == codes
