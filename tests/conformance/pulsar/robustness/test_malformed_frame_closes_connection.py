"""The check of `robustness.malformed-frame-closes-connection`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.robustness._malformed import NO_FRAME, consuming, injecting

from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.case import Rate, Topic, Topology
from assay_conformance.model.event import ClosedBy, Fate, Fired, Sides
from assay_conformance.pulsar.checks.robustness.malformed_frame_closes_connection import (
    malformed_frame_closes_connection,
)

PONG = b"\x00\x00\x00\x09\x00\x00\x00\x05\x08\x13\x9a\x01\x00"


def _after_injection() -> Script:
    story = consuming()
    story.add(Fired, fault=0, action="inject", frames=(1,), conn=0)
    return story


def test_connection_that_is_left_over_no_frame() -> None:
    story = _after_injection()
    story.closed()
    story.connected(1)
    assert judged(malformed_frame_closes_connection, story, injecting(NO_FRAME)) == ([], 1)


def test_connection_that_is_kept_over_no_frame_is_found() -> None:
    story = _after_injection()
    story.after(600)
    assert judged(malformed_frame_closes_connection, story, injecting(NO_FRAME))[0] == ["kept-open"]


def test_no_frame_that_waits_with_what_a_fault_holds_ends_the_connection_when_that_comes() -> None:
    story = _after_injection()
    story.message(0, fate=Fate.HELD, sides=Sides.SENDER)
    story.after(600)
    story.message(0, fate=Fate.RELEASED, sides=Sides.RECEIVER)
    story.closed()
    assert judged(malformed_frame_closes_connection, story, injecting(NO_FRAME)) == ([], 1)


def test_broker_that_is_kept_from_reading_sees_late_that_a_client_left() -> None:
    story = _after_injection()
    story.connected(1)
    story.after(600)
    story.closed()
    throttled = Topology(topics=(Topic(name="t", publish_rate=Rate(messages=5)),))
    case = msgspec.structs.replace(injecting(NO_FRAME), topology=throttled)
    assert judged(malformed_frame_closes_connection, story, case)[0] == []


def test_client_that_leaves_late_is_found() -> None:
    story = _after_injection()
    story.connected(1)
    story.after(600)
    story.closed()
    assert judged(malformed_frame_closes_connection, story, injecting(NO_FRAME))[0] == ["kept-open"]


@pytest.mark.parametrize(("later_ms", "codes"), [(600, ["kept-open"]), (100, [])])
def test_connection_that_its_broker_has_to_end_was_kept_open(later_ms: int, codes: list[str]) -> None:
    story = _after_injection()
    story.connected(1)
    story.after(later_ms)
    story.closed(by=ClosedBy.BROKER)
    assert judged(malformed_frame_closes_connection, story, injecting(NO_FRAME))[0] == codes


def test_client_that_does_not_come_back_is_found() -> None:
    story = _after_injection()
    story.closed()
    story.after(1_100)
    assert judged(malformed_frame_closes_connection, story, injecting(NO_FRAME))[0] == ["not-back"]


def test_client_whose_consumer_was_never_let_in_need_not_come_back() -> None:
    story = Script()
    story.connected(0)
    asked = {"topic": story.full("t"), "subscription": "s"}
    story.up("SUBSCRIBE", consumer_id=0, request_id=1, fields=asked)
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=2)
    story.down("SUCCESS", request_id=2)
    story.add(Fired, fault=0, action="inject", frames=(1,), conn=0)
    story.closed()
    story.after(1_100)
    assert judged(malformed_frame_closes_connection, story, injecting(NO_FRAME))[0] == []


def test_client_may_be_back_before_its_peer_has_heard_that_it_left() -> None:
    story = _after_injection()
    story.connected(1)
    story.closed()
    story.after(1_100)
    assert judged(malformed_frame_closes_connection, story, injecting(NO_FRAME))[0] == []


def test_client_may_have_gone_to_another_broker_meanwhile() -> None:
    story = consuming()
    story.connected(1)
    story.add(Fired, fault=0, action="inject", frames=(1,), conn=0)
    story.closed()
    story.subscribed(1)
    story.after(1_100)
    assert judged(malformed_frame_closes_connection, story, injecting(NO_FRAME))[0] == []


def test_client_that_has_nothing_open_need_not_come_back() -> None:
    story = Script()
    story.connected()
    story.add(Fired, fault=0, action="inject", frames=(1,), conn=0)
    story.closed()
    story.after(1_100)
    assert judged(malformed_frame_closes_connection, story, injecting(NO_FRAME))[0] == []


def test_client_that_was_told_to_leave_need_not_come_back() -> None:
    story = _after_injection()
    story.closed()
    story.invoke("close", CONSUMER)
    story.after(1_100)
    assert judged(malformed_frame_closes_connection, story, injecting(NO_FRAME))[0] == []


def test_frame_that_is_one_ends_nothing() -> None:
    story = _after_injection()
    story.after(600)
    assert judged(malformed_frame_closes_connection, story, injecting(PONG)) == ([], 0)
