"""Dispatch rates of several levels, of partitions and of longer periods, and what a broker's settings make of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.cases.build import down
from assay_conformance.checks.base import Check
from assay_conformance.checks.throttling import (
    ByteRateHolds,
    DispatchRateHolds,
    EntriesCountOnce,
    FullBufferPauses,
    LevelsHoldTogether,
    NearestLevelHolds,
    PartitionsEach,
    PeriodHolds,
    PreciseReads,
    ReplayOvershoots,
    SparesCaughtUp,
    UnwrittenPause,
)
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import MESSAGE_BYTES, Script
from assay_conformance.model.case import Case, Rate, Step, Topic, Topology, Who
from assay_conformance.model.event import Fate, Frame, Sides, Stepped
from assay_conformance.model.fault import Action, Cut, Delay, Drop, Fault, Rewrite
from assay_conformance.model.outside import Pause, Role, Target
from assay_conformance.model.policy import BrokerSettings, Policies

TEN = Rate(messages=10)


def _case(topology: Topology, *steps: Step) -> Case:
    return msgspec.structs.replace(ANY_CASE, topology=topology, steps=steps)


DEFAULTS = BrokerSettings()
NOTHING = Policies()


def _topic(settings: BrokerSettings = DEFAULTS, namespace: Policies = NOTHING, **topic: Any) -> Case:
    return _case(Topology(topics=(Topic(name="t", **topic),), settings=settings, namespace=namespace))


def _codes(check: Check) -> list[str]:
    return [finding.code for finding in check.findings]


def _backlog(*reads: tuple[int, int], stored: int = 200, members: int = 1, topic: str = "t", **reading: Any) -> Script:
    """A backlog of entries of so many messages, a consumer from the beginning, and reads (time in ms, entries)."""
    story = Script()
    for number in range(stored):
        story.stored(*range(number * members, number * members + members), topic=topic, entry=number)
    return _read(story, *reads, members=members, topic=topic, **reading)


def _read(
    story: Script,
    *reads: tuple[int, int],
    members: int = 1,
    topic: str = "t",
    subscription: str = "s",
    end_ms: int = 0,
    conn: int = 0,
    permits: int = 10_000,
) -> Script:
    story.connected(conn)
    story.subscribed(conn, topic=topic, subscription=subscription, initialPosition="Earliest")
    story.flow(permits, conn=conn)
    entry = 0
    for at_ms, entries in reads:
        story.at(at_ms)
        for _ in range(entries):
            story.message(*range(entry * members, entry * members + members), entry=entry, conn=conn)
            entry += 1
    story.at(end_ms or reads[-1][0] + 900)
    return story


def _seconds(count: int, entries: int = 10, start_ms: int = 500) -> list[tuple[int, int]]:
    return [(start_ms + 1_000 * second, entries) for second in range(count)]


def test_topic_that_is_loaded_again_has_its_tokens_again() -> None:
    story = _backlog((500, 20))
    story.add(Stepped, step=0)
    story.connected(1)
    story.subscribed(1, initialPosition="Earliest")
    for entry in range(20, 40):
        story.message(entry, entry=entry, conn=1)
    unload = Step(Who.BROKER, "unload", {"topic": "t"})
    case = _case(Topology(topics=(Topic(name="t", dispatch_rate=TEN),)), unload)
    assert _codes(trial(DispatchRateHolds, story.done(), case)) == []


# --- from below ------------------------------------------------------------------------------------------------------


def test_rate_over_ten_periods_is_held_from_both_sides() -> None:
    check = trial(DispatchRateHolds, _backlog(*_seconds(12)).done(), _topic(dispatch_rate=TEN))
    assert _codes(check) == []


def test_consumer_that_gets_half_its_rate_is_starved() -> None:
    check = trial(DispatchRateHolds, _backlog(*_seconds(12, 5)).done(), _topic(dispatch_rate=TEN))
    assert _codes(check) == ["starved"]


def test_consumer_that_one_of_several_brokers_has_a_tighter_rate_for_is_not_starved() -> None:
    case = _topic(settings=BrokerSettings(dispatch_rate=Rate(messages=5)), dispatch_rate=TEN)
    brokers = msgspec.structs.replace(case, topology=msgspec.structs.replace(case.topology, brokers=2))
    assert _codes(trial(DispatchRateHolds, _backlog(*_seconds(12, 5)).done(), brokers)) == []


def test_consumer_that_gets_nothing_while_the_machine_stands_still_is_not_starved() -> None:
    story = _backlog((500, 10), end_ms=9_000)
    story.load(6_000, loop_lag_ms=5_800)
    check = trial(DispatchRateHolds, story.done(), _topic(dispatch_rate=TEN))
    assert (_codes(check), bool(check.undecided_because)) == ([], True)


TEN_OF_BYTES = Rate(bytes=10 * MESSAGE_BYTES)


def test_byte_rate_over_ten_periods_is_held_from_both_sides() -> None:
    check = trial(ByteRateHolds, _backlog(*_seconds(12)).done(), _topic(dispatch_rate=TEN_OF_BYTES))
    assert _codes(check) == []


def test_consumer_that_gets_half_its_byte_rate_is_starved() -> None:
    check = trial(ByteRateHolds, _backlog(*_seconds(12, 5)).done(), _topic(dispatch_rate=TEN_OF_BYTES))
    assert _codes(check) == ["starved"]


def test_byte_rate_beside_a_message_rate_has_no_floor() -> None:
    both = Rate(messages=5, bytes=10 * MESSAGE_BYTES)
    assert _codes(trial(ByteRateHolds, _backlog(*_seconds(12, 5)).done(), _topic(dispatch_rate=both))) == []


def test_consumer_without_a_backlog_is_not_starved() -> None:
    events = _backlog((500, 5), stored=5, end_ms=9_000).done()
    assert _codes(trial(DispatchRateHolds, events, _topic(dispatch_rate=TEN))) == []


def test_consumer_without_permits_is_not_starved() -> None:
    events = _backlog((500, 5), permits=5, end_ms=9_000).done()
    assert _codes(trial(DispatchRateHolds, events, _topic(dispatch_rate=TEN))) == []


def test_two_periods_tell_nothing_from_below() -> None:
    check = trial(DispatchRateHolds, _backlog((500, 1), end_ms=3_400).done(), _topic(dispatch_rate=TEN))
    assert _codes(check) == []


# --- levels ----------------------------------------------------------------------------------------------------------

TWO_LEVELS: dict[str, Any] = {"dispatch_rate": TEN, "subscription_rate": Rate(messages=30)}


def test_levels_that_hold_together_are_accepted() -> None:
    story = _backlog((500, 5), (1_500, 5))
    _read(story, (2_510, 5), (3_510, 5), subscription="other", conn=1)
    check = trial(LevelsHoldTogether, story.done(), _topic(**TWO_LEVELS))
    assert (_codes(check), check.exercised) == ([], 10)


@pytest.mark.parametrize("levels", [TWO_LEVELS, {"dispatch_rate": Rate(messages=90), "subscription_rate": TEN}])
def test_level_that_is_not_looked_at_is_found(levels: dict[str, Any]) -> None:
    assert _codes(trial(LevelsHoldTogether, _backlog((500, 30)).done(), _topic(**levels))) == ["too-fast"]


def test_broker_rate_counts_all_topics() -> None:
    story = _backlog((500, 20))
    _read(story, (560, 20), topic="u", conn=1)
    topics = tuple(Topic(name=name, dispatch_rate=Rate(messages=30)) for name in ("t", "u"))
    case = _case(Topology(topics=topics, settings=BrokerSettings(dispatch_rate=TEN)))
    assert _codes(trial(LevelsHoldTogether, story.done(), case)) == ["too-fast"]


def test_one_level_alone_is_no_matter_of_levels() -> None:
    check = trial(LevelsHoldTogether, _backlog((500, 60)).done(), _topic(dispatch_rate=TEN))
    assert (_codes(check), check.exercised) == ([], 0)


NAMESPACE = Policies(dispatch_rate=TEN)


@pytest.mark.parametrize("own", [4, 25])
def test_topic_that_overrules_its_namespace_is_accepted(own: int) -> None:
    case = _topic(dispatch_rate=Rate(messages=own), namespace=NAMESPACE)
    check = trial(NearestLevelHolds, _backlog(*_seconds(5, own)).done(), case)
    assert (_codes(check), check.exercised) == ([], 4 * own)


@pytest.mark.parametrize(("own", "code"), [(2, "too-fast"), (40, "starved")])
def test_namespace_that_overrules_a_topic_is_found(own: int, code: str) -> None:
    case = _topic(dispatch_rate=Rate(messages=own), namespace=NAMESPACE)
    assert _codes(trial(NearestLevelHolds, _backlog(*_seconds(5)).done(), case)) == [code]


def test_topic_that_says_what_its_namespace_says_overrules_nothing() -> None:
    case = _topic(dispatch_rate=TEN, namespace=NAMESPACE)
    assert trial(NearestLevelHolds, _backlog((500, 60)).done(), case).exercised == 0


def test_rate_of_a_namespace_holds_for_a_topic_without_one() -> None:
    assert _codes(trial(DispatchRateHolds, _backlog((500, 60)).done(), _topic(namespace=NAMESPACE))) == ["too-fast"]


# --- periods, partitions, entries ------------------------------------------------------------------------------------

THREE_SECONDS = _topic(dispatch_rate=Rate(messages=10, period_s=3))


def test_longer_period_is_accepted() -> None:
    check = trial(PeriodHolds, _backlog((500, 10), (2_500, 10), (5_500, 10)).done(), THREE_SECONDS)
    assert (_codes(check), check.exercised) == ([], 20)


def test_longer_period_taken_for_a_second_is_found() -> None:
    assert _codes(trial(PeriodHolds, _backlog(*_seconds(4)).done(), THREE_SECONDS)) == ["too-fast"]


PARTITIONED = _topic(partitions=2, dispatch_rate=TEN)


def test_partition_with_the_whole_rate_is_accepted() -> None:
    check = trial(PartitionsEach, _backlog(*_seconds(5), topic="t-partition-0").done(), PARTITIONED)
    assert (_codes(check), check.exercised) == ([], 1)


def test_partition_that_is_limited_in_bytes_as_well_may_get_fewer() -> None:
    both = _topic(partitions=2, dispatch_rate=Rate(messages=10, bytes=100))
    check = trial(PartitionsEach, _backlog(*_seconds(5, 5), topic="t-partition-0").done(), both)
    assert (_codes(check), check.exercised) == ([], 0)


def test_partition_with_half_the_rate_is_found() -> None:
    check = trial(PartitionsEach, _backlog(*_seconds(5, 5), topic="t-partition-0").done(), PARTITIONED)
    assert _codes(check) == ["starved"]


def _with(action: Action) -> Case:
    return msgspec.structs.replace(PARTITIONED, faults=(Fault(trigger=down("MESSAGE"), action=action),))


def test_partition_with_half_the_rate_is_found_whatever_happens_on_the_way() -> None:
    check = trial(PartitionsEach, _backlog(*_seconds(5, 5), topic="t-partition-0").done(), _with(Delay(delay_ms=50)))
    assert _codes(check) == ["starved"]


def test_what_comes_behind_the_end_of_its_connection_is_not_owed() -> None:
    story = _backlog(*_seconds(2), topic="t-partition-0", end_ms=1_600)
    story.cut()
    story.at(9_000)
    check = trial(PartitionsEach, story.done(), _with(Cut()))
    assert (_codes(check), check.exercised) == ([], 0)


@pytest.mark.parametrize(("sides", "codes"), [(Sides.BOTH, ["starved"]), (Sides.SENDER, [])])
def test_permits_that_a_fault_took_are_none(sides: Sides, codes: list[str]) -> None:
    story = _backlog(topic="t-partition-0", permits=20, end_ms=400)
    fate = Fate.DROPPED if sides is Sides.SENDER else Fate.PASSED
    story.up("FLOW", consumer_id=0, permits=1_000, sides=sides, fate=fate)
    for entry in range(20):
        story.message(entry, entry=entry)
    story.at(9_000)
    assert _codes(trial(PartitionsEach, story.done(), _with(Drop()))) == codes


def test_where_a_fault_says_to_begin_is_not_where_the_client_asked_to() -> None:
    story = _backlog(*_seconds(5, 5), topic="t-partition-0")
    events = [
        msgspec.structs.replace(event, fate=Fate.ALTERED)
        if isinstance(event, Frame) and event.command == "SUBSCRIBE"
        else event
        for event in story.done()
    ]
    check = trial(PartitionsEach, events, _with(Rewrite(fields={"initialPosition": "Latest"})))
    assert (_codes(check), check.exercised) == ([], 0)


@pytest.mark.parametrize("held_back", [{"max_unacked_per_consumer": 5}, {"message_ttl_s": 1}])
def test_what_another_policy_holds_back_is_no_matter_of_the_rate(held_back: dict[str, Any]) -> None:
    case = _topic(dispatch_rate=TEN, **held_back)
    assert _codes(trial(DispatchRateHolds, _backlog(*_seconds(12, 5)).done(), case)) == []


def test_rate_of_a_broker_whose_process_suffers_is_not_judged_from_below() -> None:
    story = _backlog(*_seconds(5, 5), topic="t-partition-0")
    check = trial(PartitionsEach, story.done(), _with(Pause(target=Target(role=Role.BROKER))))
    assert (_codes(check), check.exercised) == ([], 0)


BY_ENTRIES = _topic(BrokerSettings(rate_counts_entries=True), dispatch_rate=TEN)


def test_entries_that_count_once_are_accepted() -> None:
    check = trial(EntriesCountOnce, _backlog(*_seconds(5), members=6).done(), BY_ENTRIES)
    assert (_codes(check), check.exercised) == ([], 1)


def test_entries_that_count_as_their_messages_are_found() -> None:
    assert _codes(trial(EntriesCountOnce, _backlog((500, 10), members=6, end_ms=5_400).done(), BY_ENTRIES)) == [
        "starved"
    ]


# --- settings of a broker --------------------------------------------------------------------------------------------

SPARED = _topic(BrokerSettings(throttles_caught_up=False), dispatch_rate=TEN)


def test_short_backlog_that_leaves_at_once_is_accepted() -> None:
    check = trial(SparesCaughtUp, _backlog((500, 60), stored=60).done(), SPARED)
    assert (_codes(check), check.exercised) == ([], 50)


def test_short_backlog_that_is_throttled_is_found() -> None:
    assert _codes(trial(SparesCaughtUp, _backlog(*_seconds(6), stored=60).done(), SPARED)) == ["throttled"]


def test_long_backlog_that_is_throttled_is_accepted() -> None:
    check = trial(SparesCaughtUp, _backlog(*_seconds(6), stored=1_100).done(), SPARED)
    assert (_codes(check), check.exercised) == ([], 50)


def test_long_backlog_that_is_spared_is_found() -> None:
    assert _codes(trial(SparesCaughtUp, _backlog((2_000, 90), stored=1_100).done(), SPARED)) == ["too-fast"]


PRECISE = _topic(BrokerSettings(precise_flow_control=True))


def _batches(*steps: int) -> Script:
    """Steps of one consumer: permits it grants, or (negative) entries of six messages it is sent."""
    story = Script()
    story.consumer()
    entry = 0
    for step in steps:
        if step > 0:
            story.flow(step)
        for _ in range(-step):
            story.message(*range(entry * 6, entry * 6 + 6), entry=entry)
            entry += 1
    return story


def test_first_read_of_precise_flow_control_knows_no_average() -> None:
    assert _codes(trial(PreciseReads, _batches(12, -12).done(), PRECISE)) == []


def test_read_that_fits_its_permits_is_accepted() -> None:
    check = trial(PreciseReads, _batches(1, -1, 5 + 12, -2).done(), PRECISE)
    assert (_codes(check), check.exercised) == ([], 2)


def test_read_of_an_entry_for_each_permit_is_found() -> None:
    assert "read-too-large" in _codes(trial(PreciseReads, _batches(1, -1, 5 + 12, -12).done(), PRECISE))


def test_coarse_flow_control_is_not_judged() -> None:
    assert _codes(trial(PreciseReads, _batches(1, -1, 5 + 12, -12).done(), _topic())) == []


# --- again beside new ------------------------------------------------------------------------------------------------


def _mixed(seconds: int, again: int, new: int) -> Script:
    """In every second so many entries again and so many new ones."""
    story = Script()
    story.consumer(kind="Shared")
    story.flow(10_000)
    story.message(0)
    fresh = again
    for second in range(seconds):
        story.at(500 + 1_000 * second)
        for number in range(again):
            story.message(number, redelivery_count=1)
        for _ in range(new):
            story.message(fresh)
            fresh += 1
    return story


def test_again_and_new_within_one_rate_are_accepted() -> None:
    check = trial(ReplayOvershoots, _mixed(6, 5, 5).done(), _topic(dispatch_rate=TEN))
    assert _codes(check) == []
    assert check.exercised > 0


def test_one_read_too_much_is_accepted() -> None:
    assert _codes(trial(ReplayOvershoots, _mixed(1, 10, 10).done(), _topic(dispatch_rate=TEN))) == []


def test_rate_of_its_own_for_what_comes_again_is_found() -> None:
    check = trial(ReplayOvershoots, _mixed(6, 10, 10).done(), _topic(dispatch_rate=TEN))
    assert _codes(check) == ["too-fast"]


# --- unwritten sends -------------------------------------------------------------------------------------------------

HELD = _case(Topology(settings=BrokerSettings(max_pending_sends=3)), Step(Who.BROKER, "hold_store", {"topic": "t"}))


def _sent(count: int, size: int = 256 * 1024) -> Script:
    story = Script()
    story.producer()
    for number in range(count):
        story.send_frame(number, size=size)
    return story


def test_sends_up_to_the_limit_and_what_is_read_ahead_are_accepted() -> None:
    check = trial(UnwrittenPause, _sent(6).done(), HELD)
    assert (_codes(check), check.exercised) == ([], 1)


def test_sends_that_are_read_on_are_found() -> None:
    assert _codes(trial(UnwrittenPause, _sent(7).done(), HELD)) == ["reads-on"]


@pytest.mark.parametrize("fate", [Fate.RELEASED, Fate.ALTERED])
def test_sends_that_a_fault_let_go_all_at_once_are_not_counted(fate: Fate) -> None:
    story = _sent(1)
    for number in range(1, 6):
        story.send_frame(number, size=256 * 1024, fate=fate, sides=Sides.RECEIVER)
    assert _codes(trial(UnwrittenPause, story.done(), HELD)) == []


def test_answered_sends_do_not_count() -> None:
    story = _sent(3)
    for number in range(3):
        story.receipt(number)
    for number in range(3, 6):
        story.send_frame(number, size=256 * 1024)
    assert _codes(trial(UnwrittenPause, story.done(), HELD)) == []


# --- unwritten bytes --------------------------------------------------------------------------------------------------

FULL = _case(Topology(settings=BrokerSettings(max_pending_mb=1)), Step(Who.BROKER, "hold_store", {"topic": "t"}))


def _on_two_connections(*counts: int, answered: int = 0) -> Script:
    """On each so many SENDs of 256 KB, one here and one there; so many of the first are answered as they come."""
    story = Script()
    for conn in range(len(counts)):
        story.producer(conn=conn)
    for number in range(max(counts)):
        for conn, count in enumerate(counts):
            if number < count:
                story.send_frame(100 * conn + number, conn=conn, sequence_id=number, size=256 * 1024)
                if conn == 0 and number < answered:
                    story.receipt(number)
    return story


def test_bytes_of_two_connections_up_to_the_limit_and_what_is_read_ahead_are_accepted() -> None:
    check = trial(FullBufferPauses, _on_two_connections(5, 5).done(), FULL)
    assert (_codes(check), check.exercised) == ([], 6)


def test_bytes_of_two_connections_that_are_read_on_are_found() -> None:
    assert _codes(trial(FullBufferPauses, _on_two_connections(6, 5).done(), FULL)) == ["reads-on"]


def test_bytes_that_are_answered_do_not_count() -> None:
    assert _codes(trial(FullBufferPauses, _on_two_connections(6, 5, answered=2).done(), FULL)) == []


def test_who_connects_when_nobody_knows_how_full_it_is_is_not_counted() -> None:
    story = Script()
    story.producer(conn=0)
    story.send_frame(0, size=256 * 1024, sides=Sides.RECEIVER)
    story.producer(conn=1)
    for number in range(8):
        story.send_frame(100 + number, conn=1, sequence_id=number, size=256 * 1024)
    assert _codes(trial(FullBufferPauses, story.done(), FULL)) == []


def test_who_connects_to_a_full_broker_is_not_counted() -> None:
    story = _on_two_connections(5, 5)
    story.producer(conn=2)
    for number in range(8):
        story.send_frame(200 + number, conn=2, sequence_id=number, size=256 * 1024)
    assert _codes(trial(FullBufferPauses, story.done(), FULL)) == []
