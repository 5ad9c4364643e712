"""The check of `robustness.corrupt-batch-reported`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.robustness._malformed import NO_FRAME, consuming, injecting

from assay_conformance.history.script import NAME, Script, entry_id
from assay_conformance.model.event import AgentEnded, Fate, Fired, Meta, Sides
from assay_conformance.pulsar.checks.robustness.corrupt_batch_reported import corrupt_batch_reported


def _bad_batch(story: Script) -> None:
    story.message(0, members=(), meta=Meta(producer_name=NAME, sequence_id=0, batch=3))


def _report(story: Script, error: str) -> None:
    story.ack_frame(0, fields={"validation_error": error})


def test_bad_batch_that_is_reported() -> None:
    story = consuming()
    _bad_batch(story)
    _report(story, "BatchDeSerializeError")
    assert judged(corrupt_batch_reported, story) == ([], 1)


def test_bad_batch_without_a_word_is_found() -> None:
    story = consuming()
    _bad_batch(story)
    story.after(600)
    assert judged(corrupt_batch_reported, story)[0] == ["not-reported"]


def test_bad_batch_acknowledged_like_a_good_one_is_found() -> None:
    story = consuming()
    _bad_batch(story)
    story.ack_frame(0)
    story.after(600)
    assert judged(corrupt_batch_reported, story)[0] == ["not-reported"]


def test_member_of_a_bad_batch_that_comes_twice_is_found() -> None:
    story = consuming()
    _bad_batch(story)
    _report(story, "BatchDeSerializeError")
    story.received(0, message_id=entry_id(0, 0, 3))
    story.received(0, message_id=entry_id(0, 0, 3))
    assert judged(corrupt_batch_reported, story)[0] == ["delivered-twice"]


def test_connection_closed_over_what_is_no_frame_is_not_laid_to_a_bad_batch() -> None:
    story = consuming()
    _bad_batch(story)
    story.add(Fired, fault=0, action="inject", frames=(1,), conn=0)
    story.closed()
    assert judged(corrupt_batch_reported, story, injecting(NO_FRAME))[0] == []


def test_connection_closed_beside_a_message_spoilt_in_another_way_is_not_laid_to_a_bad_batch() -> None:
    story = consuming()
    _bad_batch(story)
    story.message(1, fate=Fate.ALTERED, meta=None, members=())
    story.closed()
    assert judged(corrupt_batch_reported, story)[0] == []


def test_connection_closed_beside_a_command_nobody_knows_is_not_laid_to_a_bad_batch() -> None:
    story = consuming()
    _bad_batch(story)
    story.down("999", sides=Sides.RECEIVER, fate=Fate.INJECTED)
    story.closed()
    assert judged(corrupt_batch_reported, story)[0] == []


def test_connection_closed_over_a_bad_batch_is_found() -> None:
    story = consuming()
    _bad_batch(story)
    story.closed()
    assert judged(corrupt_batch_reported, story)[0] == ["connection-closed"]


def test_process_that_dies_over_a_bad_batch_is_found() -> None:
    story = consuming()
    _bad_batch(story)
    story.closed()
    story.add(AgentEnded, reason="agent exited with 2")
    assert judged(corrupt_batch_reported, story)[0] == ["connection-closed"]
