"""The check of `throttling.dispatch-rate-holds`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._histories import DISPATCH, dispatched, throttled_case
from tests.conformance.pulsar.throttling._levels import NAMESPACE, TEN, backlog, case_of, seconds, topic_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Rate, Step, Topic, Topology, Who
from assay_conformance.model.event import Stepped
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.checks.throttling.dispatch_rate_holds import dispatch_rate_holds


def test_dispatch_at_the_rate_is_accepted() -> None:
    check = trial(dispatch_rate_holds, dispatched((100, 10), (1100, 10), (2100, 10)), DISPATCH)
    assert (check.findings, check.exercised) == ([], 20)


def test_dispatch_that_ignores_the_rate_is_found() -> None:
    assert codes_of(trial(dispatch_rate_holds, dispatched((100, 60)), DISPATCH)) == ["too-fast"]


def test_dispatch_that_creeps_beyond_the_rate_is_found() -> None:
    reads = [(100 + 1000 * period, 15) for period in range(12)]
    assert codes_of(trial(dispatch_rate_holds, dispatched(*reads), DISPATCH)) == ["too-fast"]


def test_one_read_may_overdraw_by_its_batches() -> None:
    assert codes_of(trial(dispatch_rate_holds, dispatched((100, 10), batch=6), DISPATCH)) == []


def test_subscription_rate_counts_that_subscription() -> None:
    case = throttled_case(subscription_rate=Rate(messages=10))
    assert codes_of(trial(dispatch_rate_holds, dispatched((100, 60)), case)) == ["too-fast"]


def test_rate_changed_by_a_step_is_not_judged() -> None:
    change = Step(Who.BROKER, "set_policy", {"topic": "t", "dispatch_rate": {"messages": 0}})
    case = msgspec.structs.replace(DISPATCH, steps=(change,))
    assert trial(dispatch_rate_holds, dispatched((100, 60)), case).exercised == 0


@pytest.mark.parametrize("suffered", [{"loop_lag_ms": 300}, {"broker_wait_ms": 300}, {"others": 1}], ids=str)
def test_rate_of_a_broker_that_is_not_left_alone_is_undecided(suffered: dict[str, int]) -> None:
    """The bench stalls, the broker does, or it has other Cases to serve."""
    events = dispatched((100, 60))
    story = Script()
    story.events = events[:-1]
    story.after(1).load(500, **suffered)
    check = trial(dispatch_rate_holds, story.done(), DISPATCH)
    assert (codes_of(check), bool(check.undecided_because)) == ([], True)


def test_rate_that_counts_entries_is_judged_by_entries() -> None:
    case = msgspec.structs.replace(
        DISPATCH, topology=msgspec.structs.replace(DISPATCH.topology, settings=BrokerSettings(rate_counts_entries=True))
    )
    assert codes_of(trial(dispatch_rate_holds, dispatched((100, 10), (1100, 10), (2100, 10), batch=20), case)) == []


def test_broker_that_spares_who_is_not_behind_is_not_judged() -> None:
    spared = BrokerSettings(throttles_caught_up=False)
    case = msgspec.structs.replace(DISPATCH, topology=msgspec.structs.replace(DISPATCH.topology, settings=spared))
    assert trial(dispatch_rate_holds, dispatched((100, 60)), case).exercised == 0


def test_topic_that_is_loaded_again_has_its_tokens_again() -> None:
    story = backlog((500, 20))
    story.add(Stepped, step=0)
    story.connected(1)
    story.subscribed(1, initialPosition="Earliest")
    for entry in range(20, 40):
        story.message(entry, entry=entry, conn=1)
    unload = Step(Who.BROKER, "unload", {"topic": "t"})
    case = case_of(Topology(topics=(Topic(name="t", dispatch_rate=TEN),)), unload)
    assert codes_of(trial(dispatch_rate_holds, story.done(), case)) == []


def test_rate_over_ten_periods_is_held_from_both_sides() -> None:
    check = trial(dispatch_rate_holds, backlog(*seconds(12)).done(), topic_of(dispatch_rate=TEN))
    assert codes_of(check) == []


def test_consumer_that_gets_half_its_rate_is_starved() -> None:
    check = trial(dispatch_rate_holds, backlog(*seconds(12, 5)).done(), topic_of(dispatch_rate=TEN))
    assert codes_of(check) == ["starved"]


def test_consumer_that_one_of_several_brokers_has_a_tighter_rate_for_is_not_starved() -> None:
    case = topic_of(settings=BrokerSettings(dispatch_rate=Rate(messages=5)), dispatch_rate=TEN)
    brokers = msgspec.structs.replace(case, topology=msgspec.structs.replace(case.topology, brokers=2))
    assert codes_of(trial(dispatch_rate_holds, backlog(*seconds(12, 5)).done(), brokers)) == []


def test_consumer_that_gets_nothing_while_the_machine_stands_still_is_not_starved() -> None:
    story = backlog((500, 10), end_ms=9_000)
    story.load(6_000, loop_lag_ms=5_800)
    check = trial(dispatch_rate_holds, story.done(), topic_of(dispatch_rate=TEN))
    assert (codes_of(check), bool(check.undecided_because)) == ([], True)


def test_consumer_without_a_backlog_is_not_starved() -> None:
    events = backlog((500, 5), stored=5, end_ms=9_000).done()
    assert codes_of(trial(dispatch_rate_holds, events, topic_of(dispatch_rate=TEN))) == []


def test_consumer_without_permits_is_not_starved() -> None:
    events = backlog((500, 5), permits=5, end_ms=9_000).done()
    assert codes_of(trial(dispatch_rate_holds, events, topic_of(dispatch_rate=TEN))) == []


def test_two_periods_tell_nothing_from_below() -> None:
    check = trial(dispatch_rate_holds, backlog((500, 1), end_ms=3_400).done(), topic_of(dispatch_rate=TEN))
    assert codes_of(check) == []


def test_rate_of_a_namespace_holds_for_a_topic_without_one() -> None:
    assert codes_of(trial(dispatch_rate_holds, backlog((500, 60)).done(), topic_of(namespace=NAMESPACE))) == [
        "too-fast"
    ]


@pytest.mark.parametrize("held_back", [{"max_unacked_per_consumer": 5}, {"message_ttl_s": 1}])
def test_what_another_policy_holds_back_is_no_matter_of_the_rate(held_back: dict[str, Any]) -> None:
    case = topic_of(dispatch_rate=TEN, **held_back)
    assert codes_of(trial(dispatch_rate_holds, backlog(*seconds(12, 5)).done(), case)) == []
