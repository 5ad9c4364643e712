"""SENDs as their broker got them, and which answer is for which."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.history.script import DUPLICATE, NAME, Script
from assay_conformance.judging.certainty import UnknownError
from assay_conformance.model.event import Frame, Meta, Sides
from assay_conformance.pulsar.timeline import Publish
from assay_conformance.wire.answers import UNKNOWN_COPY


def _story() -> Script:
    story = Script()
    story.producer()
    return story


def _error(story: Script, sequence_id: int, error: str, message: str = "") -> Frame:
    fields = {"error": error, "message": message}
    return story.down("SEND_ERROR", producer_id=0, sequence_id=sequence_id, fields=fields)


def _publish(story: Script, send: Frame) -> Publish:
    found = asked(story, lambda timeline: timeline.publishes.of(send))
    assert found is not None
    return found


def _answers(story: Script, *sends: Frame) -> list[Frame | None]:
    return [_publish(story, send).likely_answer for send in sends]


def test_answers_are_for_the_sends_whose_ids_they_name() -> None:
    story = _story()
    first, second = story.send_frame(0), story.send_frame(1)
    error, receipt = _error(story, 1, "NotAllowedError"), story.receipt(0)
    assert _answers(story, first, second) == [receipt, error]


def test_error_for_a_batch_names_its_highest_id() -> None:
    story = _story()
    batch = story.send_frame(0, 1, 2, highest_sequence_id=2)
    error = _error(story, 2, "PersistenceError")
    assert _answers(story, batch) == [error]


@pytest.mark.parametrize("as_error", [True, False])
def test_copy_is_answered_before_the_send_that_it_copies(as_error: bool) -> None:
    story = _story()
    first, copy = story.send_frame(0), story.send_frame(0)
    at_once = _error(story, 0, "PersistenceError", UNKNOWN_COPY) if as_error else story.receipt(0, id=DUPLICATE)
    receipt = story.receipt(0)
    assert _answers(story, first, copy) == [receipt, at_once]
    assert _publish(story, first).is_vague


def test_answer_that_may_be_for_another_send_is_not_known() -> None:
    story = _story()
    first, _, _ = story.send_frame(0), story.send_frame(0), story.receipt(0)
    with pytest.raises(UnknownError, match="an answer may be for any"):
        _ = _publish(story, first).answer


def test_checksum_error_is_for_the_send_that_came_damaged() -> None:
    story = _story()
    damaged, resent = story.send_frame(0, intact=False), story.send_frame(0)
    error, receipt = _error(story, 0, "ChecksumError"), story.receipt(0)
    assert _answers(story, damaged, resent) == [error, receipt]
    assert not _publish(story, resent).is_vague


def test_chunks_of_a_message_are_receipted_in_order_and_only_the_last_is_compared() -> None:
    story = _story()
    metas = [Meta(producer_name=NAME, sequence_id=0, uuid="u", chunk_id=chunk, chunks=2) for chunk in (0, 1)]
    early, last = (story.send_frame(0, meta=meta) for meta in metas)
    again, receipt = story.receipt(0, id=DUPLICATE), story.receipt(0)
    assert _answers(story, early, last) == [receipt, again]
    assert not _publish(story, early).is_vague


def test_what_waits_when_its_producer_registers_again_is_not_answered() -> None:
    story = _story()
    before = story.send_frame(0)
    story.producer_again(0)
    after, receipt = story.send_frame(0), story.receipt(0)
    assert _answers(story, before, after) == [None, receipt]


def test_send_for_a_closed_producer_is_not_answered() -> None:
    story = _story()
    before = story.send_frame(0)
    story.down("CLOSE_PRODUCER", producer_id=0, request_id=-1)
    ignored, receipt = story.send_frame(0), story.receipt(0)
    assert _answers(story, before, ignored) == [receipt, None]


def test_send_that_never_reached_the_broker_is_no_publish() -> None:
    story = _story()
    lost = story.send_frame(0, sides=Sides.SENDER)
    assert asked(story, lambda timeline: timeline.publishes.of(lost)) is None
