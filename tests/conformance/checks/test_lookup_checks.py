"""Look-ups that fail, topics that went to another cluster, times of delayed messages, sizes that cannot be."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.credentials import AnswersChallenge
from assay_conformance.checks.doubted_sizes import DoubtsSizes
from assay_conformance.checks.due_times import NamesItsTime
from assay_conformance.checks.growing import FindsAddedPartitions
from assay_conformance.checks.lookups import RetriesLookups
from assay_conformance.checks.migrating import FollowsMigration
from assay_conformance.checks.proxied import NamesBrokerToProxy
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import CONSUMER, PRODUCER, Script
from assay_conformance.model.case import ClientConfig, Rate, Step, Topic, Topology, Who
from assay_conformance.model.event import (
    AgentEnded,
    ClosedBy,
    ErrorClass,
    Event,
    Fate,
    Fired,
    Meta,
    Outcome,
    Sides,
    Stepped,
)


def _codes(check: Check) -> list[str]:
    return [finding.code for finding in check.findings]


class _LookedUp(Script):
    """A producer is opened, and its look-ups are answered so, with a pause between them."""

    def __init__(self, *errors: str, pause_ms: int = 100) -> None:
        super().__init__()
        self.opening = self.invoke("open_producer", PRODUCER, args={"topic": "t"})
        self.connected(0)
        for number, error in enumerate(errors):
            if number:
                self.after(pause_ms)
            self.look_up(number)
            self.down("LOOKUP_RESPONSE", request_id=number, fields={"response": "Failed", "error": error})

    def look_up(self, number: int) -> None:
        self.up("LOOKUP", request_id=number, fields={"topic": self.full("t")})

    def judged(self, timeout_ms: int = 10_000) -> Check:
        case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(client={"operation_timeout_ms": timeout_ms}))
        facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"operation_timeout_ms"}))
        return trial(RetriesLookups, self.at(20_000).done(), case, facts)


def test_lookup_tried_again_until_it_succeeds_is_accepted() -> None:
    story = _LookedUp("ServiceNotReady", "TooManyRequests")
    story.after(200)
    story.look_up(9)
    story.complete(story.opening)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_opening_that_fails_with_its_first_lookup_is_found() -> None:
    story = _LookedUp("ServiceNotReady")
    story.complete(story.opening, Outcome.FAIL, error=ErrorClass.NOT_LEADER)
    assert _codes(story.judged()) == ["gave-up"]


def test_opening_that_ends_with_its_process_gave_nothing_up() -> None:
    story = _LookedUp("ServiceNotReady")
    story.complete(story.opening, Outcome.UNKNOWN, error=ErrorClass.CLOSED)
    assert _codes(story.judged()) == []


def test_opening_of_a_second_that_fails_with_its_first_lookup_is_found() -> None:
    story = _LookedUp("ServiceNotReady")
    story.complete(story.opening, Outcome.FAIL, error=ErrorClass.NOT_LEADER)
    assert _codes(story.judged(timeout_ms=1_000)) == ["gave-up"]


def test_opening_of_a_second_that_asked_twice_may_have_no_time_left() -> None:
    story = _LookedUp("ServiceNotReady", "ServiceNotReady")
    story.complete(story.opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert _codes(story.judged(timeout_ms=1_000)) == []


def test_opening_that_fails_when_its_time_is_up_is_accepted() -> None:
    story = _LookedUp("ServiceNotReady")
    story.at(9_900).complete(story.opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert _codes(story.judged()) == []


def test_opening_that_fails_when_its_next_pause_would_not_fit_is_accepted() -> None:
    story = _LookedUp("ServiceNotReady")
    story.at(6_000).complete(story.opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert _codes(story.judged()) == []


def test_lookups_of_others_behind_one_that_failed_are_no_haste() -> None:
    story = _LookedUp("ServiceNotReady")
    for number in range(1, 5):
        story.look_up(number)
    assert _codes(story.judged()) == []


def test_lookups_without_any_pause_are_found() -> None:
    assert _codes(_LookedUp(*["ServiceNotReady"] * 5, pause_ms=1).judged()) == ["without-pause"]


def test_opening_that_ends_with_an_answer_some_take_for_final_is_accepted() -> None:
    story = _LookedUp("ServiceNotReady", "NotAllowedError")
    story.complete(story.opening, Outcome.FAIL)
    assert _codes(story.judged()) == []


def test_opening_that_is_refused_behind_its_lookups_is_accepted() -> None:
    story = _LookedUp("ServiceNotReady")
    story.after(200)
    story.look_up(9)
    asked = story.producer_asks()
    story.down("ERROR", request_id=asked.request_id, fields={"error": "NotAllowedError"})
    story.complete(story.opening, Outcome.FAIL)
    assert _codes(story.judged()) == []


def test_forbidden_lookup_is_not_to_be_tried_again() -> None:
    story = _LookedUp("AuthorizationError")
    story.complete(story.opening, Outcome.FAIL, error=ErrorClass.AUTH)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)
    story = _LookedUp("AuthorizationError")
    story.after(200)
    story.look_up(9)
    assert _codes(story.judged()) == ["kept-asking"]


# --- follows-migration ------------------------------------------------------------------------------------------------

TOLD = {"resource_id": 0, "resource_type": "Producer", "brokerServiceUrl": "pulsar://b:1"}
MIGRATED = msgspec.structs.replace(ANY_CASE, steps=(Step(Who.BROKER, "migrate", {"topic": "t", "broker": 1}),))


def test_client_that_was_cut_off_may_not_have_heard_where_its_topic_went() -> None:
    story = Script()
    story.producer()
    story.down("TOPIC_MIGRATED", fields=TOLD)
    story.cut()
    story.opened(1, 0)
    story.producer_asks(1)
    assert _codes(trial(FollowsMigration, story.at(5_000).done(), MIGRATED)) == []


def _migrated(broker: int | None) -> Check:
    story = Script()
    story.producer()
    story.down("TOPIC_MIGRATED", fields=TOLD)
    if broker is not None:
        story.opened(1, broker)
        story.up("CONNECT", 1)
        story.down("CONNECTED", 1)
        story.producer_asks(1)
    return trial(FollowsMigration, story.at(5_000).done(), MIGRATED)


@pytest.mark.parametrize(("broker", "codes"), [(1, []), (0, ["stayed", "never-came"]), (None, ["never-came"])])
def test_producer_is_to_register_where_its_topic_went(broker: int | None, codes: list[str]) -> None:
    check = _migrated(broker)
    assert (_codes(check), check.exercised) == (codes, int(not codes))


@pytest.mark.parametrize(("error", "codes"), [("TopicTerminatedError", []), ("NotAllowedError", ["never-came"])])
def test_producer_that_sends_no_more_need_not_follow_its_topic(error: str, codes: list[str]) -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": error})
    story.down("TOPIC_MIGRATED", fields=TOLD)
    check = trial(FollowsMigration, story.at(5_000).done(), MIGRATED)
    assert _codes(check) == codes


def _told_and_left(story: Script, after_ms: int = 10) -> list[str]:
    """Its producer is told that the topic went away, leaves the connection, and comes back to where it was."""
    story.down("TOPIC_MIGRATED", fields=TOLD)
    story.after(after_ms).closed()
    story.opened(1, 0)
    story.producer_asks(1)
    check = trial(FollowsMigration, story.at(9_000).done(), MIGRATED)
    return _codes(check)


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


@pytest.mark.parametrize(("end_ms", "codes"), [(2_800, []), (5_000, ["never-came"])])
def test_client_that_cannot_look_its_topic_up_there_waits_to_ask_again(end_ms: int, codes: list[str]) -> None:
    story = Script()
    story.producer()
    story.down("TOPIC_MIGRATED", fields=TOLD)
    story.opened(1, 1)
    story.at(1_000).down("LOOKUP_RESPONSE", 1, request_id=7, fields={"error": "ServiceNotReady"})
    check = trial(FollowsMigration, story.at(end_ms).done(), MIGRATED)
    assert _codes(check) == codes


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
    assert _codes(trial(FollowsMigration, story.at(end_ms).done(), case, facts)) == codes


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
    check = trial(FollowsMigration, story.at(1_000).done(), MIGRATED)
    assert _codes(check) == codes[:1]


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
    assert _codes(trial(FollowsMigration, story.at(5_000).done(), MIGRATED)) == []


def test_producer_that_is_closed_need_not_follow_its_topic_nor_need_its_namesake_in_another_client() -> None:
    story = Script()
    story.producer()
    story.down("TOPIC_MIGRATED", fields=TOLD)
    story.complete(story.invoke("close", PRODUCER))
    story.opened(1, 0)
    story.producer_asks(1)
    assert _codes(trial(FollowsMigration, story.at(5_000).done(), MIGRATED)) == []


def _refused_where_it_went(error: str) -> Check:
    story = Script()
    story.producer()
    story.down("TOPIC_MIGRATED", fields=TOLD)
    story.connected(1)
    story.up("LOOKUP", 1, request_id=9, fields={"topic": story.full("t")})
    story.down("LOOKUP_RESPONSE", 1, request_id=9, fields={"response": "Failed", "error": error})
    return trial(FollowsMigration, story.at(5_000).done(), MIGRATED)


@pytest.mark.parametrize(("error", "codes"), [("NotAllowedError", []), ("ServiceNotReady", ["never-came"])])
def test_producer_that_is_refused_for_good_where_its_topic_went_has_come(error: str, codes: list[str]) -> None:
    assert _codes(_refused_where_it_went(error)) == codes


# --- names-its-time ---------------------------------------------------------------------------------------------------


def _delayed(said_ms: int | None, **asked: int) -> Check:
    story = Script()
    story.producer()
    story.at(100).send(0, **asked)
    story.send_frame(0, meta=Meta(producer_name="p", sequence_id=0, deliver_at_ms=said_ms))
    return trial(NamesItsTime, story.done())


@pytest.mark.parametrize(
    ("said_ms", "asked"), [(600, {"deliver_after_ms": 500}), (7_000, {"deliver_at_ms": 7_000})], ids=str
)
def test_message_that_says_when_it_is_due_is_accepted(said_ms: int, asked: dict[str, int]) -> None:
    check = _delayed(said_ms, **asked)
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize(
    ("said_ms", "asked", "code"),
    [
        (None, {"deliver_after_ms": 500}, "no-time"),
        (500, {"deliver_after_ms": 500}, "other-time"),
        (7, {"deliver_at_ms": 7_000}, "other-time"),
        (7_100, {"deliver_at_ms": 7_000}, "other-time"),
    ],
    ids=str,
)
def test_message_that_says_another_time_is_found(said_ms: int | None, asked: dict[str, int], code: str) -> None:
    assert _codes(_delayed(said_ms, **asked)) == [code]


# --- doubts-sizes -----------------------------------------------------------------------------------------------------


def _absurd(**fields: Any) -> Script:
    story = Script()
    story.consumer(**fields)
    size = 2**31 - 1
    story.message(0, meta=Meta(producer_name="p", sequence_id=0, compression="LZ4", uncompressed_size=size))
    story.message(1)
    return story


def test_consumer_that_goes_on_behind_an_absurd_size_is_accepted() -> None:
    story = _absurd()
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.received(1)
    story.at(2_000).complete(waiting, count=1)
    check = trial(DoubtsSizes, story.done())
    assert (check.findings, check.exercised) == ([], 1)


def test_consumer_that_is_stuck_behind_an_absurd_size_is_found() -> None:
    story = _absurd()
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.at(2_000).complete(waiting, count=0)
    assert _codes(trial(DoubtsSizes, story.done())) == ["stuck"]


def test_a_damaged_message_behind_an_absurd_size_is_not_owed() -> None:
    story = _absurd()
    story.message(2, intact=False)
    waiting = story.invoke("receive", CONSUMER, args={"count": 2})
    story.received(1)
    story.at(2_000).complete(waiting, count=1)
    assert _codes(trial(DoubtsSizes, story.done())) == []


def test_connection_that_ends_of_an_absurd_size_is_found() -> None:
    story = _absurd()
    story.closed(by=ClosedBy.CLIENT)
    assert _codes(trial(DoubtsSizes, story.done())) == ["connection-closed"]


def test_process_that_dies_of_an_absurd_size_is_found() -> None:
    story = _absurd()
    story.add(AgentEnded, reason="killed by signal 6")
    assert _codes(trial(DoubtsSizes, story.done())) == ["died"]


# --- finds-added-partitions -------------------------------------------------------------------------------------------


def _grown(*found_ms: int) -> Check:
    """A topic of one partition gets two more at 1 s, and its producer looks every 300 ms."""
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300)
    for ms, number in sorted([(1_000, 0), *((ms, number) for number, ms in enumerate(found_ms, start=1))]):
        story.at(ms)
        if number:
            story.producer_ready(producer_id=number, topic=f"t-partition-{number}")
        else:
            story.add(Stepped, step=0)
    return _of_growth(story)


def _of_growth(story: Script, **topic: Any) -> Check:
    grow = Step(Who.BROKER, "grow", {"topic": "t", "partitions": 3})
    topology = Topology(topics=(Topic(name="t", partitions=1, **topic),))
    case = msgspec.structs.replace(ANY_CASE, steps=(grow,), topology=topology)
    facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"partitions_update_ms"}))
    return trial(FindsAddedPartitions, story.at(9_000).done(), case, facts)


@pytest.mark.parametrize("found_ms", [(1_200, 1_250), (900, 1_250), (900, 950)], ids=str)
def test_producer_that_finds_all_partitions_in_time_is_accepted(found_ms: tuple[int, ...]) -> None:
    check = _grown(*found_ms)
    assert (check.findings, check.exercised) == ([], 1)


def test_broker_that_reads_on_late_may_hear_late_of_who_looks() -> None:
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300)
    story.at(1_000).add(Stepped, step=0)
    assert _codes(_of_growth(story, publish_rate=Rate(messages=5))) == []


def test_an_answer_that_was_held_back_counts_when_it_comes() -> None:
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300)
    story.at(1_000).add(Stepped, step=0)
    for number in (1, 2):
        asked = story.at(1_200).producer_asks(producer_id=number, topic=f"t-partition-{number}")
        for at_ms, sides in ((1_210, Sides.SENDER), (1_300, Sides.RECEIVER)):
            story.at(at_ms + 200 * number).down("PRODUCER_SUCCESS", request_id=asked.request_id, sides=sides)
    assert _codes(_of_growth(story)) == []


@pytest.mark.parametrize(("action", "codes"), [("hold", []), ("duplicate", ["not-found"])])
def test_who_has_its_request_held_back_has_found_it(action: str, codes: list[str]) -> None:
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300)
    story.at(1_000).add(Stepped, step=0)
    story.at(1_200).fired(action=action)
    assert _codes(_of_growth(story)) == codes


def test_producer_that_a_partition_refuses_need_not_come_back() -> None:
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300)
    story.at(1_000).add(Stepped, step=0)
    asked = story.at(1_100).producer_asks(producer_id=1, topic="t-partition-1")
    story.down("ERROR", request_id=asked.request_id, fields={"error": "TopicTerminatedError"})
    assert _codes(_of_growth(story)) == []


@pytest.mark.parametrize(("error", "codes"), [("NotAllowedError", []), ("TooManyRequests", ["not-found"])])
def test_partition_that_cannot_be_looked_up_is_not_owed(error: str, codes: list[str]) -> None:
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300)
    story.at(1_000).add(Stepped, step=0)
    story.at(1_100).up("LOOKUP", request_id=9, fields={"topic": f"{story.full('t')}-partition-1"})
    story.down("LOOKUP_RESPONSE", request_id=9, fields={"response": "Failed", "error": error})
    assert _codes(_of_growth(story)) == codes


@pytest.mark.parametrize("found_ms", [(), (1_200,), (1_200, 5_000)], ids=str)
def test_producer_that_finds_some_of_them_late_or_never_is_found(found_ms: tuple[int, ...]) -> None:
    assert _codes(_grown(*found_ms)) == ["not-found"]


# --- answers-challenge ------------------------------------------------------------------------------------------------


def _challenged(*, answer: dict[str, str] | None, at_ms: int = 20, opened_with: str = "01") -> Check:
    story = Script()
    story.opened(0)
    story.up("CONNECT", fields={"auth_method_name": "token", "auth_data": opened_with})
    story.down("CONNECTED")
    story.down("AUTH_CHALLENGE")
    if answer is not None:
        story.at(at_ms).up("AUTH_RESPONSE", fields={"response": {"auth_method_name": "token", **answer}})
    case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(client={"tokens": "first,second"}))
    facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"tokens"}))
    return trial(AnswersChallenge, story.at(5_000).done(), case, facts)


def test_fresh_credentials_at_once_are_accepted() -> None:
    check = _challenged(answer={"auth_data": "02"})
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize(
    ("answer", "code"),
    [({"auth_data": "01"}, "old-credentials"), ({}, "no-credentials"), (None, "no-answer")],
    ids=str,
)
def test_anything_else_is_found(answer: dict[str, str] | None, code: str) -> None:
    assert _codes(_challenged(answer=answer)) == [code]


def test_credentials_behind_which_there_are_none_may_be_given_again() -> None:
    assert _codes(_challenged(answer={"auth_data": b"second".hex()}, opened_with=b"second".hex())) == []


def test_fresh_credentials_that_come_late_are_found() -> None:
    assert _codes(_challenged(answer={"auth_data": "02"}, at_ms=3_000)) == ["no-answer"]


# --- names-broker-to-proxy --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("named", "codes"), [("b:1", []), ("other:1", ["not-named"]), (None, ["not-named"])])
def test_broker_behind_a_proxy_is_to_be_named(named: str | None, codes: list[str]) -> None:
    check = trial(NamesBrokerToProxy, _passed_on(named, asked_at="pulsar://proxy:1", then_at="pulsar://proxy:1"))
    assert (_codes(check), check.exercised) == (codes, int(not codes))


@pytest.mark.parametrize(
    ("asked_at", "then_at", "named", "codes"),
    [
        ("pulsar://b:1", "pulsar://b:1", None, []),
        ("pulsar://b:1", "pulsar://b:1", "other:1", ["not-named"]),
        ("pulsar://proxy:1", "pulsar://b:1", None, ["not-named"]),
    ],
    ids=["it is the proxy itself", "another is named there", "the proxy is passed by"],
)
def test_broker_that_is_its_own_proxy_need_not_be_named(
    asked_at: str, then_at: str, named: str | None, codes: list[str]
) -> None:
    check = trial(NamesBrokerToProxy, _passed_on(named, asked_at, then_at))
    assert (_codes(check), check.exercised) == (codes, 0)


def _passed_on(named: str | None, asked_at: str, then_at: str) -> list[Event]:
    story = Script()
    story.opened(0, url=asked_at)
    story.up("LOOKUP", request_id=1, fields={"topic": story.full("t")})
    answer = {"response": "Connect", "brokerServiceUrl": "pulsar://b:1", "proxy_through_service_url": True}
    story.down("LOOKUP_RESPONSE", request_id=1, fields=answer)
    story.opened(1, url=then_at)
    story.up("CONNECT", 1, fields={} if named is None else {"proxy_to_broker_url": named})
    story.down("CONNECTED", 1)
    story.producer_asks(1)
    return story.done()


def _partitions_fail(story: Script, number: int, error: str = "ServiceNotReady") -> None:
    story.up("PARTITIONED_METADATA", request_id=number, fields={"topic": story.full("t")})
    fields = {"response": "Failed", "error": error}
    story.down("PARTITIONED_METADATA_RESPONSE", request_id=number, fields=fields)


class _SecondOpening(_LookedUp):
    """A producer is open on the topic when another one is opened there."""

    def __init__(self) -> None:
        super().__init__("ServiceNotReady")
        self.after(100)
        self.look_up(1)
        self.complete(self.opening)
        self.second = self.invoke("open_producer", PRODUCER + 10, args={"topic": "t"})


def test_opening_that_the_client_refuses_by_itself_gave_nothing_up() -> None:
    """A window of no length is refused at once; the open producer's look for added partitions fails just then, and the
    word of the refusal comes late to the bench."""
    story = _SecondOpening()
    done_ns = story.after(5).now_ns
    _partitions_fail(story, 15)
    story.after(70)
    story.complete(story.second, Outcome.FAIL, error=ErrorClass.INVALID_CONFIG, done_ns=done_ns)
    assert _codes(story.judged()) == []


def test_lookup_that_fails_behind_the_end_of_an_opening_was_not_given_up_by_it() -> None:
    story = _LookedUp()
    done_ns = story.now_ns
    story.after(5)
    story.look_up(7)
    story.down("LOOKUP_RESPONSE", request_id=7, fields={"response": "Failed", "error": "ServiceNotReady"})
    story.after(70).complete(story.opening, Outcome.FAIL, error=ErrorClass.TRANSPORT, done_ns=done_ns)
    assert _codes(story.judged()) == []


@pytest.mark.parametrize("error", ["ServiceNotReady", "AuthorizationError"])
def test_what_an_open_producer_looks_for_in_vain_is_not_laid_to_an_opening(error: str) -> None:
    story = _SecondOpening()
    _partitions_fail(story, 15, error)
    story.after(100)
    _partitions_fail(story, 16, error)
    story.complete(story.second, Outcome.FAIL, error=ErrorClass.OTHER)
    assert _codes(story.judged()) == []


def test_look_up_that_only_an_opening_can_have_made_is_its_own_beside_an_open_producer() -> None:
    story = _SecondOpening()
    story.look_up(7)
    story.down("LOOKUP_RESPONSE", request_id=7, fields={"response": "Failed", "error": "ServiceNotReady"})
    story.complete(story.second, Outcome.FAIL, error=ErrorClass.NOT_LEADER)
    assert _codes(story.judged()) == ["gave-up"]


class _WithLetters(Script):
    """A consumer of a topic and of its retry letter topic is opened. The look-up of the topic fails."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = f"{self.full('t')}-s-RETRY"
        self.asked = self.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})
        self.connected(0)
        self.up("LOOKUP", request_id=5, fields={"topic": self.full("t")})
        self.down("LOOKUP_RESPONSE", request_id=5, fields={"response": "Failed", "error": "TooManyRequests"})

    def subscribes(self, topic: str, error: str) -> None:
        self.up("SUBSCRIBE", consumer_id=1, request_id=8, fields={"topic": topic, "subscription": "s"})
        self.down("ERROR", request_id=8, fields={"error": error})

    def judged(self) -> list[str]:
        config = ClientConfig(client={"operation_timeout_ms": 10_000}, consumer={"retry_letters": True})
        case = msgspec.structs.replace(ANY_CASE, config=config)
        facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"operation_timeout_ms", "retry_letters"}))
        return _codes(trial(RetriesLookups, self.at(20_000).done(), case, facts))


@pytest.mark.parametrize("asked_again", [True, False])
def test_opening_that_its_retry_letter_topic_ends_gave_nothing_up(asked_again: bool) -> None:
    story = _WithLetters()
    story.subscribes(story.letters, "TopicTerminatedError")
    if asked_again:
        story.after(100).up("LOOKUP", request_id=9, fields={"topic": story.full("t")})
        story.down("LOOKUP_RESPONSE", request_id=9, fields={"response": "Connect"})
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TERMINATED)
    assert story.judged() == []


def test_opening_with_a_retry_letter_topic_has_to_ask_again_too() -> None:
    story = _WithLetters()
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.NOT_LEADER)
    assert story.judged() == ["gave-up"]
