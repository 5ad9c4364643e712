"""Delayed delivery: too early, out of turn, waited for where nobody should, and lost with the broker."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.delayed import ActiveIgnoresDelay, NotBeforeItsTime, SurvivesRestart
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case, Step, Topic, Topology, Who
from assay_conformance.model.event import Meta, Stepped
from assay_conformance.model.fault import AtTime, Fault
from assay_conformance.model.outside import Kill
from assay_conformance.model.policy import BrokerSettings, DelayedDelivery, Rate

TICK_MS = 100
TERMS = DelayedDelivery(tick_ms=TICK_MS)


def _case(*steps: Step, strict: bool = False, active: bool = True) -> Case:
    terms = msgspec.structs.replace(TERMS, active=active)
    settings = BrokerSettings(delayed_strict=strict)
    topology = Topology(topics=(Topic(name="t", delayed_delivery=terms),), settings=settings)
    return msgspec.structs.replace(ANY_CASE, topology=topology, steps=steps)


def _codes(check: Check) -> list[str]:
    return [finding.code for finding in check.findings]


def _stored(story: Script, number: int, due_ms: int) -> None:
    meta = Meta(producer_name="p", sequence_id=number, deliver_at_ms=due_ms)
    story.stored(number, meta=meta)


def _delivered(*messages: tuple[int, int], kind: str = "Shared", permits: int = 100) -> Script:
    """Messages with the times they are due, stored together for a consumer that is there, and sent at others."""
    story = Script()
    story.connected()
    story.subscribed(kind=kind, initialPosition="Earliest")
    story.flow(permits)
    for number, (due_ms, _) in enumerate(messages):
        _stored(story, number, due_ms)
    for number, (_, sent_ms) in sorted(enumerate(messages), key=lambda each: each[1][1]):
        story.at(sent_ms).message(number)
    return story.after(50)


def test_message_at_its_time_is_accepted() -> None:
    check = trial(NotBeforeItsTime, _delivered((1_000, 1_010)).done(), _case())
    assert (_codes(check), check.exercised) == ([], 1)


@pytest.mark.parametrize(("strict", "codes"), [(False, []), (True, ["early"])])
def test_message_may_be_a_tick_early_unless_that_is_ruled_out(strict: bool, codes: list[str]) -> None:
    assert _codes(trial(NotBeforeItsTime, _delivered((1_000, 920)).done(), _case(strict=strict))) == codes


def test_message_that_is_early_is_found() -> None:
    assert _codes(trial(NotBeforeItsTime, _delivered((1_000, 500)).done(), _case())) == ["early"]


@pytest.mark.parametrize("kind", ["Exclusive", "Failover"])
def test_only_shared_consumers_wait(kind: str) -> None:
    assert _codes(trial(NotBeforeItsTime, _delivered((1_000, 50), kind=kind).done(), _case())) == []


def test_delays_that_are_switched_off_are_not_judged() -> None:
    assert _codes(trial(NotBeforeItsTime, _delivered((1_000, 50)).done(), _case(active=False))) == []


def test_message_that_was_due_before_it_was_stored_shows_nothing() -> None:
    assert trial(NotBeforeItsTime, _delivered((1, 300)).done(), _case()).exercised == 0


def test_broker_that_was_kept_from_running_may_find_both_due_at_once() -> None:
    story = _delivered((700, 1_800), (1_000, 1_500))
    story.load(1_850, broker_wait_ms=300)
    check = trial(NotBeforeItsTime, story.done(), _case())
    assert (_codes(check), bool(check.undecided_because)) == ([], True)


def test_earlier_message_that_comes_again_behind_a_later_one_is_not_out_of_turn() -> None:
    story = _delivered((1_000, 1_010), (1_300, 1_310))
    story.cut()
    story.connected(1)
    story.subscribed(conn=1, kind="Shared", initialPosition="Earliest")
    story.flow(100, conn=1)
    story.at(2_000).message(0, conn=1)
    assert _codes(trial(NotBeforeItsTime, story.done(), _case())) == []


def test_later_message_that_comes_first_is_found() -> None:
    assert _codes(trial(NotBeforeItsTime, _delivered((700, 1_800), (1_000, 1_500)).done(), _case())) == ["out-of-turn"]


def test_messages_of_one_read_have_no_order() -> None:
    assert _codes(trial(NotBeforeItsTime, _delivered((700, 1_501), (1_000, 1_500)).done(), _case())) == []


def test_consumer_without_permits_gets_what_was_read_first() -> None:
    story = _delivered((700, 1_800), (1_000, 1_500), permits=1)
    assert _codes(trial(NotBeforeItsTime, story.done(), _case())) == []


def test_exclusive_consumer_that_gets_a_delayed_message_at_once_is_accepted() -> None:
    check = trial(ActiveIgnoresDelay, _delivered((1_000, 50), kind="Exclusive").done(), _case())
    assert (_codes(check), check.exercised) == ([], 1)


def test_exclusive_consumer_that_has_to_wait_is_found() -> None:
    check = trial(ActiveIgnoresDelay, _delivered((1_000, 1_000), kind="Exclusive").done(), _case())
    assert _codes(check) == ["waited"]


def test_permits_behind_sends_that_a_publish_rate_holds_up_may_not_have_been_read() -> None:
    case = _case()
    topics = tuple(msgspec.structs.replace(topic, publish_rate=Rate(messages=10)) for topic in case.topology.topics)
    case = msgspec.structs.replace(case, topology=msgspec.structs.replace(case.topology, topics=topics))
    assert _codes(trial(ActiveIgnoresDelay, _delivered((1_000, 1_000), kind="Exclusive").done(), case)) == []


def test_message_that_a_rate_of_dispatch_keeps_back_does_not_wait_for_its_time() -> None:
    case = _case()
    topics = tuple(msgspec.structs.replace(topic, dispatch_rate=Rate(messages=1)) for topic in case.topology.topics)
    case = msgspec.structs.replace(case, topology=msgspec.structs.replace(case.topology, topics=topics))
    assert _codes(trial(ActiveIgnoresDelay, _delivered((1_000, 1_000), kind="Exclusive").done(), case)) == []


def test_a_message_stored_after_its_time_tells_nothing() -> None:
    story = Script()
    story.connected()
    story.subscribed(kind="Exclusive")
    story.flow(10)
    story.at(1_500)
    _stored(story, 0, 1_000)
    story.message(0)
    check = trial(ActiveIgnoresDelay, story.done(), _case())
    assert (_codes(check), check.exercised) == ([], 0)
    assert "stored so late" in check.undecided_because


def test_shared_consumer_has_to_wait() -> None:
    check = trial(ActiveIgnoresDelay, _delivered((1_000, 1_000)).done(), _case())
    assert (_codes(check), check.exercised) == ([], 0)


def test_exclusive_consumer_that_came_late_may_get_it_late() -> None:
    story = Script()
    _stored(story, 0, 500)
    story.at(900).connected()
    story.subscribed(initialPosition="Earliest")
    story.flow(10)
    story.message(0)
    assert _codes(trial(ActiveIgnoresDelay, story.done(), _case())) == []


def test_exclusive_consumer_whose_permits_were_used_up_may_get_it_late() -> None:
    """What came before it had to go out first, one by one."""
    story = Script()
    story.connected()
    story.subscribed(initialPosition="Earliest")
    story.flow(1)
    story.stored(0)
    _stored(story, 1, 500)
    story.message(0)
    story.at(1_500).flow(1)
    story.message(1)
    assert _codes(trial(ActiveIgnoresDelay, story.done(), _case())) == []


def test_exclusive_consumer_that_owes_permits_for_a_batch_may_get_it_late() -> None:
    """With one permit it was sent three messages, and grants the permits for these first."""
    story = Script()
    story.connected()
    story.subscribed(initialPosition="Earliest")
    story.flow(1)
    story.message(0, 1, 2, batch=True)
    story.flow(1)
    _stored(story, 3, 500)
    story.at(1_500).flow(2)
    story.message(3)
    assert _codes(trial(ActiveIgnoresDelay, story.done(), _case())) == []


RESTART = _case(Step(Who.BROKER, "restart"))


BROKER_KILLED = msgspec.structs.replace(_case(), faults=(Fault(trigger=AtTime(0), action=Kill()),))


def _restarted(sent_ms: int | None, *, killed: bool = False, **fields: Any) -> Script:
    """A message due at one second; the broker restarts, or is killed, before, and its consumer comes again."""
    story = Script()
    story.connected()
    story.subscribed(kind="Shared", initialPosition="Earliest")
    _stored(story, 0, 1_000)
    if killed:
        story.fired(action="kill")
    else:
        story.add(Stepped, step=0, **fields)
    story.cut()
    story.connected(1)
    story.subscribed(1, kind="Shared", initialPosition="Earliest")
    story.flow(10, conn=1)
    if sent_ms is not None:
        story.at(sent_ms).message(0, conn=1)
    return story.at(5_000)


def test_delayed_message_that_comes_after_a_restart_is_accepted() -> None:
    check = trial(SurvivesRestart, _restarted(1_000).done(), RESTART)
    assert (_codes(check), check.exercised) == ([], 1)


def test_delayed_message_that_is_gone_after_a_restart_is_found() -> None:
    assert _codes(trial(SurvivesRestart, _restarted(None).done(), RESTART)) == ["lost"]


def test_what_a_subscription_has_passed_by_a_seek_is_not_lost() -> None:
    story = _restarted(1_000)
    story.up("SEEK", 1, consumer_id=0, request_id=9)
    story.subscribed(1, kind="Shared", initialPosition="Earliest")
    story.flow(10, conn=1)
    assert _codes(trial(SurvivesRestart, story.at(9_000).done(), RESTART)) == []


def test_delayed_message_that_is_gone_after_its_broker_was_killed_is_found() -> None:
    check = trial(SurvivesRestart, _restarted(None, killed=True).done(), BROKER_KILLED)
    assert _codes(check) == ["lost"]


def test_delayed_message_that_a_rate_of_dispatch_keeps_back_is_not_lost() -> None:
    topics = tuple(msgspec.structs.replace(topic, dispatch_rate=Rate(messages=1)) for topic in RESTART.topology.topics)
    case = msgspec.structs.replace(RESTART, topology=msgspec.structs.replace(RESTART.topology, topics=topics))
    assert _codes(trial(SurvivesRestart, _restarted(None).done(), case)) == []


def test_restart_that_did_not_happen_loses_nothing() -> None:
    assert _codes(trial(SurvivesRestart, _restarted(None, skipped="no such broker").done(), RESTART)) == []


def test_message_that_may_still_come_is_not_lost() -> None:
    story = _restarted(None)
    assert _codes(trial(SurvivesRestart, story.at(1_500).done(), RESTART)) == []
