"""Faults that no network has: a frame lost, moved or repeated inside a stream that goes on. Nobody is to blame."""

from __future__ import annotations

import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.ordering import KeepsSendOrder, ReceiptsInSendOrder
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import ClosedBy, Fate, Meta, Sides
from assay_conformance.pulsar.checks.resend.ignores_stale_receipt import ignores_stale_receipt
from assay_conformance.pulsar.checks.resend.receipt_ahead_closes_connection import receipt_ahead_closes_connection


def _codes(check: type[Check], story: Script) -> list[str]:
    return [finding.code for finding in trial(check, story.done()).findings]


def _sent(count: int = 3) -> Script:
    story = Script()
    story.producer()
    for number in range(count):
        story.send(number)
    return story


def _stored_after_a_resend(story: Script, *numbers: int) -> Script:
    """What is stored: of the first stream, then all of the resend from message 1 on."""
    for number in numbers:
        story.stored(number)
    story.cut(by=ClosedBy.CLIENT)
    story.producer_again(1)
    for number in (1, 2):
        story.send_frame(number, conn=1)
        story.stored(number)
    for number in range(3):
        story.ok(number)
    story.read_back(0, 1, 2, 3)
    return story


@pytest.mark.parametrize("injected", [False, True])
def test_order_behind_a_send_that_was_taken_out_is_not_judged(injected: bool) -> None:
    story = _sent()
    story.send_frame(0)
    story.send_frame(1, sides=Sides.SENDER, fate=Fate.DROPPED)
    if injected:
        error = {"error": "PersistenceError"}
        story.down("SEND_ERROR", producer_id=0, sequence_id=1, fields=error, sides=Sides.RECEIVER, fate=Fate.INJECTED)
    story.send_frame(2)
    assert _codes(KeepsSendOrder, _stored_after_a_resend(story, 0, 2)) == []


def test_order_behind_a_send_that_was_overtaken_is_not_judged() -> None:
    story = _sent()
    story.send_frame(0)
    held = story.send_frame(1, sides=Sides.SENDER, fate=Fate.HELD)
    story.send_frame(2)
    story.send_frame(1, sides=Sides.RECEIVER, fate=Fate.RELEASED, frame=held.frame)
    for number in (0, 2, 1):
        story.stored(number)
    assert _codes(KeepsSendOrder, story) == []


def test_order_is_judged_when_a_send_was_lost_with_its_connection() -> None:
    story = _sent()
    story.send_frame(0)
    story.send_frame(1)
    story.send_frame(2, sides=Sides.SENDER, fate=Fate.CUT)
    assert _codes(KeepsSendOrder, _stored_after_a_resend(story, 0, 2)) == ["stored-out-of-order"]


def test_order_is_judged_when_a_held_send_keeps_its_place() -> None:
    story = _sent()
    held = [story.send_frame(number, sides=Sides.SENDER, fate=Fate.HELD) for number in range(3)]
    for number, frame in enumerate(held):
        story.send_frame(number, sides=Sides.RECEIVER, fate=Fate.RELEASED, frame=frame.frame)
    for number in (0, 2, 1):
        story.stored(number)
    assert _codes(KeepsSendOrder, story) == ["stored-out-of-order"]


def test_loss_behind_a_send_that_was_taken_out_is_not_judged() -> None:
    story = _sent(2)
    story.send_frame(0, sides=Sides.SENDER, fate=Fate.DROPPED)
    story.send_frame(1)
    story.stored(1)
    story.ok(0)
    story.read_back(0)
    assert _codes(KeepsSendOrder, story) == []


def test_receipts_of_a_torn_stream_are_neither_stale_nor_ahead() -> None:
    for check in (ignores_stale_receipt, receipt_ahead_closes_connection):
        story = _sent()
        story.send_frame(0, sides=Sides.SENDER, fate=Fate.DROPPED)
        story.send_frame(1)
        story.receipt(1)
        story.receipt(0)
        story.receipt(0)
        story.after(20)
        story.closed()
        assert _codes(check, story.at(5000)) == []


def test_sends_that_wait_for_a_new_session_are_of_the_old_one_where_they_arrive() -> None:
    story = _sent(2)
    held = story.send_frame(1, sides=Sides.SENDER, fate=Fate.HELD)
    asked = story.producer_asks(sides=Sides.SENDER, fate=Fate.HELD)
    story.send_frame(1, sides=Sides.RECEIVER, fate=Fate.RELEASED, frame=held.frame)
    story.producer_asks(sides=Sides.RECEIVER, fate=Fate.RELEASED, frame=asked.frame)
    for number in (0, 1):
        story.send_frame(number)
        story.receipt(number)
    assert _codes(ReceiptsInSendOrder, story) == []


def test_refusal_of_a_chunk_that_was_overtaken_does_not_tell_which_chunks_are_answered_later() -> None:
    story = _sent(0)
    meta = {chunk: Meta(producer_name="p", sequence_id=0, chunk_id=chunk, chunks=2) for chunk in (0, 1)}
    story.send_frame(0, meta=meta[0])
    story.send_frame(1)
    story.send_frame(0, meta=meta[1])
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "ChecksumError"})
    story.receipt(0)
    story.receipt(1)
    assert _codes(ReceiptsInSendOrder, story) == []
