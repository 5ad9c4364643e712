"""The check of `delayed.survives-restart`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.delayed._histories import delayed_case, stored

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Step, Who
from assay_conformance.model.event import Stepped
from assay_conformance.model.fault import AtTime, Fault
from assay_conformance.model.outside import Kill
from assay_conformance.model.policy import Rate
from assay_conformance.pulsar.checks.delayed.survives_restart import survives_restart

RESTART = delayed_case(Step(Who.BROKER, "restart"))


BROKER_KILLED = msgspec.structs.replace(delayed_case(), faults=(Fault(trigger=AtTime(0), action=Kill()),))


def _restarted(sent_ms: int | None, *, killed: bool = False, **fields: Any) -> Script:
    """A message due at one second; the broker restarts, or is killed, before, and its consumer comes again."""
    story = Script()
    story.connected()
    story.subscribed(kind="Shared", initialPosition="Earliest")
    stored(story, 0, 1_000)
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
    check = trial(survives_restart, _restarted(1_000).done(), RESTART)
    assert (codes_of(check), check.exercised) == ([], 1)


def test_delayed_message_that_is_gone_after_a_restart_is_found() -> None:
    assert codes_of(trial(survives_restart, _restarted(None).done(), RESTART)) == ["lost"]


def test_what_a_subscription_has_passed_by_a_seek_is_not_lost() -> None:
    story = _restarted(1_000)
    story.up("SEEK", 1, consumer_id=0, request_id=9)
    story.subscribed(1, kind="Shared", initialPosition="Earliest")
    story.flow(10, conn=1)
    assert codes_of(trial(survives_restart, story.at(9_000).done(), RESTART)) == []


def test_delayed_message_that_is_gone_after_its_broker_was_killed_is_found() -> None:
    check = trial(survives_restart, _restarted(None, killed=True).done(), BROKER_KILLED)
    assert codes_of(check) == ["lost"]


def test_delayed_message_that_a_rate_of_dispatch_keeps_back_is_not_lost() -> None:
    topics = tuple(msgspec.structs.replace(topic, dispatch_rate=Rate(messages=1)) for topic in RESTART.topology.topics)
    case = msgspec.structs.replace(RESTART, topology=msgspec.structs.replace(RESTART.topology, topics=topics))
    assert codes_of(trial(survives_restart, _restarted(None).done(), case)) == []


def test_restart_that_did_not_happen_loses_nothing() -> None:
    assert codes_of(trial(survives_restart, _restarted(None, skipped="no such broker").done(), RESTART)) == []


def test_message_that_may_still_come_is_not_lost() -> None:
    story = _restarted(None)
    assert codes_of(trial(survives_restart, story.at(1_500).done(), RESTART)) == []
