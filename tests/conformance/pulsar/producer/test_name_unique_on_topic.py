"""The check of `producer.name-unique-on-topic`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.conformance.pulsar._trials import judged

from assay_conformance.cases.build import down
from assay_conformance.checks.trial import ANY_CASE
from assay_conformance.history.script import Script
from assay_conformance.model.case import Topology
from assay_conformance.model.event import Fired
from assay_conformance.model.fault import Cut, CutHow, Fault
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.checks.producer.name_unique_on_topic import name_unique_on_topic

HALF_OPEN = msgspec.structs.replace(
    ANY_CASE,
    topology=Topology(settings=BrokerSettings(liveness_check_ms=300)),
    faults=(Fault(trigger=down("SEND_RECEIPT"), action=Cut(how=CutHow.BLACKHOLE)),),
)


def _asked(**fields: Any) -> Script:
    """A producer has its name, and one of another connection asks for it."""
    story = Script()
    story.producer()
    story.connected(1)
    story.producer_asks(1, **fields)
    return story


def _busy(story: Script) -> Script:
    request = [event for event in story.events if getattr(event, "command", "") == "PRODUCER"][-1]
    story.down("ERROR", 1, request_id=request.request_id, fields={"error": "ProducerBusy"})  # type: ignore[union-attr]
    return story


def test_second_of_a_name_that_is_refused_is_accepted() -> None:
    assert judged(name_unique_on_topic, _busy(_asked())) == ([], 1)


def test_second_of_a_name_that_is_let_in_is_found() -> None:
    story = Script()
    story.producer()
    story.producer_again(1)
    assert judged(name_unique_on_topic, story)[0] == ["two-of-a-name"]


def test_name_of_a_connection_that_ended_is_free() -> None:
    story = Script()
    story.producer()
    story.cut()
    story.producer_again(1)
    assert judged(name_unique_on_topic, story)[0] == []


def test_name_of_a_connection_that_a_fault_cut_may_be_given_away() -> None:
    story = Script()
    story.producer()
    story.add(Fired, fault=0, action="cut", conn=0)
    story.producer_again(1)
    assert judged(name_unique_on_topic, story)[0] == []


def test_producer_that_is_created_again_on_its_connection_keeps_its_name() -> None:
    story = Script()
    story.producer()
    story.producer_ready()
    assert judged(name_unique_on_topic, story)[0] == []


def test_name_of_a_producer_that_was_closed_before_it_was_let_in_is_free() -> None:
    story = Script()
    story.connected(0)
    asked = story.producer_asks()
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=9)
    story.down("PRODUCER_SUCCESS", request_id=asked.request_id, fields={"producer_name": "p"})
    story.down("SUCCESS", request_id=9)
    story.producer_again(1)
    assert judged(name_unique_on_topic, story)[0] == []


def test_name_that_is_refused_though_its_holder_was_closed_is_found() -> None:
    story = Script()
    story.producer()
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=9)
    story.down("SUCCESS", request_id=9)
    story.connected(1)
    story.producer_asks(1)
    assert judged(name_unique_on_topic, _busy(story))[0] == ["busy-though-free"]


def _silent(answered_after_ms: float) -> Script:
    """A black hole takes what comes of the connection that has the name, and another one asks for it."""
    story = Script()
    story.producer()
    story.add(Fired, fault=0, action="cut", conn=0)
    story.connected(1)
    story.producer_asks(1)
    return _busy(story.after(answered_after_ms))


def test_name_of_a_silent_connection_may_be_refused_until_it_had_its_time() -> None:
    assert judged(name_unique_on_topic, _silent(299), HALF_OPEN) == ([], 1)


def test_name_of_a_silent_connection_that_is_refused_for_ever_is_found() -> None:
    assert judged(name_unique_on_topic, _silent(300), HALF_OPEN)[0] == ["busy-though-dead"]


def test_name_of_a_silent_connection_that_is_given_away_is_accepted() -> None:
    story = Script()
    story.producer()
    story.add(Fired, fault=0, action="cut", conn=0)
    story.producer_again(1)
    assert judged(name_unique_on_topic, story, HALF_OPEN) == ([], 1)


def test_topic_that_somebody_wants_for_himself_is_not_judged() -> None:
    story = Script()
    story.producer()
    story.producer_again(1, producer_access_mode="ExclusiveWithFencing")
    assert judged(name_unique_on_topic, story) == ([], 0)


def test_name_that_was_asked_for_before_its_holder_was_closed_may_be_refused() -> None:
    story = Script()
    story.producer()
    story.connected(1)
    story.producer_asks(1)
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=9)
    story.down("SUCCESS", request_id=9)
    assert judged(name_unique_on_topic, _busy(story))[0] == []
