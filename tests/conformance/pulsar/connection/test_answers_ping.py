"""The check of `connection.answers-ping`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.robustness._malformed import NO_FRAME, injecting

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Rate, Topic, Topology
from assay_conformance.model.event import Fired, Sides
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.checks.connection.answers_ping import answers_ping


def _pinged() -> Script:
    story = Script()
    story.connected()
    story.at(100).down("PING")
    return story


def test_prompt_pong_is_accepted() -> None:
    story = _pinged()
    story.up("PONG")
    check = trial(answers_ping, story.done())
    assert (check.findings, check.exercised) == ([], 1)


def test_ping_behind_bytes_that_are_no_frame_cannot_be_read() -> None:
    story = Script()
    story.connected()
    story.add(Fired, fault=0, action="inject", frames=(1,), conn=0)
    story.at(100).down("PING")
    assert codes_of(trial(answers_ping, story.at(2000).done(), injecting(NO_FRAME))) == []


def test_late_pong_is_found() -> None:
    story = _pinged()
    story.at(2000).up("PONG")
    assert codes_of(trial(answers_ping, story.done())) == ["late"]


def test_missing_pong_is_found() -> None:
    assert codes_of(trial(answers_ping, _pinged().at(2000).done())) == ["no-pong"]


def test_ping_right_before_a_cut_proves_nothing() -> None:
    story = _pinged()
    story.cut()
    check = trial(answers_ping, story.at(2000).done())
    assert (check.findings, check.exercised) == ([], 0)


def test_ping_that_never_reached_the_client_is_not_judged() -> None:
    story = Script()
    story.connected()
    story.down("PING", sides=Sides.SENDER)
    assert codes_of(trial(answers_ping, story.at(2000).done())) == []


@pytest.mark.parametrize(
    "topology",
    [
        Topology(topics=(Topic(name="t", publish_rate=Rate(messages=1)),)),
        Topology(topics=(Topic(name="t"),), settings=BrokerSettings(max_pending_sends=2)),
    ],
    ids=["rate", "sends to store"],
)
def test_pong_is_not_judged_where_the_broker_may_not_read(topology: Topology) -> None:
    case = msgspec.structs.replace(ANY_CASE, topology=topology)
    assert codes_of(trial(answers_ping, _pinged().at(2000).done(), case)) == []
