"""Malformed input beyond damaged bytes, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec

from assay_conformance.checks.base import Check
from assay_conformance.checks.malformed import BadFrame, UnknownCommand
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.checks.unreadable import BadBatch, BadMetadata
from assay_conformance.history.script import CONSUMER, NAME, Script, entry_id
from assay_conformance.model.case import Case, Rate, Topic, Topology
from assay_conformance.model.event import ClosedBy, Fate, Fired, Meta, Sides
from assay_conformance.model.fault import Fault, Inject, OnFrame

NO_FRAME = b"\x00\x00\x00\x08\x00\x00\x00\x04\xff\xff\xff\xff"
PONG = b"\x00\x00\x00\x09\x00\x00\x00\x05\x08\x13\x9a\x01\x00"


def judged(check: type[Check], story: Script, case: Case = ANY_CASE) -> tuple[list[str], int]:
    said = trial(check, story.done(), case)
    return [finding.code for finding in said.findings], said.exercised


def _consuming() -> Script:
    story = Script()
    story.consumer()
    return story


# --- batches ----------------------------------------------------------------------------------------------------------


def _bad_batch(story: Script) -> None:
    story.message(0, members=(), meta=Meta(producer_name=NAME, sequence_id=0, batch=3))


def _report(story: Script, error: str) -> None:
    story.ack_frame(0, fields={"validation_error": error})


def test_bad_batch_that_is_reported() -> None:
    story = _consuming()
    _bad_batch(story)
    _report(story, "BatchDeSerializeError")
    assert judged(BadBatch, story) == ([], 1)


def test_bad_batch_without_a_word_is_found() -> None:
    story = _consuming()
    _bad_batch(story)
    story.after(600)
    assert judged(BadBatch, story)[0] == ["not-reported"]


def test_bad_batch_acknowledged_like_a_good_one_is_found() -> None:
    story = _consuming()
    _bad_batch(story)
    story.ack_frame(0)
    story.after(600)
    assert judged(BadBatch, story)[0] == ["not-reported"]


def test_member_of_a_bad_batch_that_comes_twice_is_found() -> None:
    story = _consuming()
    _bad_batch(story)
    _report(story, "BatchDeSerializeError")
    story.received(0, message_id=entry_id(0, 0, 3))
    story.received(0, message_id=entry_id(0, 0, 3))
    assert judged(BadBatch, story)[0] == ["delivered-twice"]


def test_connection_closed_over_what_is_no_frame_is_not_laid_to_a_bad_batch() -> None:
    story = _consuming()
    _bad_batch(story)
    story.add(Fired, fault=0, action="inject", frames=(1,), conn=0)
    story.closed()
    assert judged(BadBatch, story, _injecting(NO_FRAME))[0] == []


def test_connection_closed_beside_a_message_spoilt_in_another_way_is_not_laid_to_a_bad_batch() -> None:
    story = _consuming()
    _bad_batch(story)
    story.message(1, fate=Fate.ALTERED, meta=None, members=())
    story.closed()
    assert judged(BadBatch, story)[0] == []


def test_connection_closed_beside_a_command_nobody_knows_is_not_laid_to_a_bad_batch() -> None:
    story = _consuming()
    _bad_batch(story)
    story.down("999", sides=Sides.RECEIVER, fate=Fate.INJECTED)
    story.closed()
    assert judged(BadBatch, story)[0] == []


def test_connection_closed_over_a_bad_batch_is_found() -> None:
    story = _consuming()
    _bad_batch(story)
    story.closed()
    assert judged(BadBatch, story)[0] == ["connection-closed"]


# --- metadata ---------------------------------------------------------------------------------------------------------


def test_bad_metadata_that_is_acknowledged() -> None:
    story = _consuming()
    story.message(0, meta=None, members=())
    story.ack_frame(0)
    assert judged(BadMetadata, story) == ([], 1)


def test_bad_metadata_that_closes_the_connection_is_found() -> None:
    story = _consuming()
    story.message(0, meta=None, members=())
    story.closed()
    assert judged(BadMetadata, story)[0] == ["connection-closed"]


def test_bad_metadata_that_stays_in_the_backlog_is_found() -> None:
    story = _consuming()
    story.message(0, meta=None, members=())
    story.after(600)
    assert judged(BadMetadata, story)[0] == ["not-reported"]


def test_damaged_message_is_another_requirements_matter() -> None:
    story = _consuming()
    story.message(0, meta=None, members=(), intact=False)
    story.after(600)
    assert judged(BadMetadata, story) == ([], 0)


# --- frames -----------------------------------------------------------------------------------------------------------


def _injecting(raw: bytes) -> Case:
    from_broker: Any = {"command": "SEND_RECEIPT", "direction": "b2c"}
    fault = Fault(trigger=OnFrame(**from_broker), action=Inject(raw=raw))
    return Case(id="test/case", title="A history by hand", requirements=(), steps=(), faults=(fault,))


def _after_injection() -> Script:
    story = _consuming()
    story.add(Fired, fault=0, action="inject", frames=(1,), conn=0)
    return story


def test_connection_that_is_left_over_no_frame() -> None:
    story = _after_injection()
    story.closed()
    story.connected(1)
    assert judged(BadFrame, story, _injecting(NO_FRAME)) == ([], 1)


def test_connection_that_is_kept_over_no_frame_is_found() -> None:
    story = _after_injection()
    story.after(600)
    assert judged(BadFrame, story, _injecting(NO_FRAME))[0] == ["kept-open"]


def test_no_frame_that_waits_with_what_a_fault_holds_ends_the_connection_when_that_comes() -> None:
    story = _after_injection()
    story.message(0, fate=Fate.HELD, sides=Sides.SENDER)
    story.after(600)
    story.message(0, fate=Fate.RELEASED, sides=Sides.RECEIVER)
    story.closed()
    assert judged(BadFrame, story, _injecting(NO_FRAME)) == ([], 1)


def test_broker_that_is_kept_from_reading_sees_late_that_a_client_left() -> None:
    story = _after_injection()
    story.connected(1)
    story.after(600)
    story.closed()
    throttled = Topology(topics=(Topic(name="t", publish_rate=Rate(messages=5)),))
    assert judged(BadFrame, story, msgspec.structs.replace(_injecting(NO_FRAME), topology=throttled))[0] == []


def test_client_that_leaves_late_is_found() -> None:
    story = _after_injection()
    story.connected(1)
    story.after(600)
    story.closed()
    assert judged(BadFrame, story, _injecting(NO_FRAME))[0] == ["kept-open"]


def test_client_that_does_not_come_back_is_found() -> None:
    story = _after_injection()
    story.closed()
    story.after(1_100)
    assert judged(BadFrame, story, _injecting(NO_FRAME))[0] == ["not-back"]


def test_client_may_be_back_before_its_peer_has_heard_that_it_left() -> None:
    story = _after_injection()
    story.connected(1)
    story.closed()
    story.after(1_100)
    assert judged(BadFrame, story, _injecting(NO_FRAME))[0] == []


def test_client_may_have_gone_to_another_broker_meanwhile() -> None:
    story = _consuming()
    story.connected(1)
    story.add(Fired, fault=0, action="inject", frames=(1,), conn=0)
    story.closed()
    story.subscribed(1)
    story.after(1_100)
    assert judged(BadFrame, story, _injecting(NO_FRAME))[0] == []


def test_client_that_has_nothing_open_need_not_come_back() -> None:
    story = Script()
    story.connected()
    story.add(Fired, fault=0, action="inject", frames=(1,), conn=0)
    story.closed()
    story.after(1_100)
    assert judged(BadFrame, story, _injecting(NO_FRAME))[0] == []


def test_client_that_was_told_to_leave_need_not_come_back() -> None:
    story = _after_injection()
    story.closed()
    story.invoke("close", CONSUMER)
    story.after(1_100)
    assert judged(BadFrame, story, _injecting(NO_FRAME))[0] == []


def test_frame_that_is_one_ends_nothing() -> None:
    story = _after_injection()
    story.after(600)
    assert judged(BadFrame, story, _injecting(PONG)) == ([], 0)


# --- unknown commands -------------------------------------------------------------------------------------------------


def _unknown() -> Script:
    story = _consuming()
    story.down("999", sides=Sides.RECEIVER, fate=Fate.INJECTED)
    return story


def test_client_goes_on_behind_an_unknown_command() -> None:
    story = _unknown()
    story.flow(5)
    assert judged(UnknownCommand, story) == ([], 1)


def test_client_that_leaves_over_an_unknown_command_is_found() -> None:
    story = _unknown()
    story.closed()
    assert judged(UnknownCommand, story)[0] == ["connection-closed"]


def test_client_that_leaves_a_broker_too_busy_to_look_up_is_accepted() -> None:
    story = _unknown()
    story.down("LOOKUP_RESPONSE", request_id=77, fields={"error": "ServiceNotReady"})
    story.closed()
    assert judged(UnknownCommand, story)[0] == []


def test_connection_that_somebody_else_ends_shows_nothing() -> None:
    story = _unknown()
    story.cut(by=ClosedBy.FAULT)
    assert judged(UnknownCommand, story) == ([], 0)
