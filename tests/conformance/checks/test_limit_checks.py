"""Bounds of pending sends, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.flow.limits import BoundedMemory, BoundedPending, FullQueue
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import MESSAGE_BYTES, Script
from assay_conformance.model.event import ErrorClass, Fate


def judged(check: type[Check], story: Script) -> tuple[list[str], int]:
    said = trial(check, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _sent(*numbers: int, **config: Any) -> Script:
    """Messages that left, each in a SEND of its own, without a receipt."""
    story = Script()
    story.producer(**config)
    for number in numbers:
        story.send(number)
        story.send_frame(number)
    return story


def _succeed(story: Script, *numbers: int) -> None:
    for number in numbers:
        story.receipt(number)
        story.ok(number)


# --- by number --------------------------------------------------------------------------------------------------------


def test_as_many_pending_as_allowed() -> None:
    story = _sent(0, 1, max_pending_messages=2)
    _succeed(story, 0, 1)
    assert judged(BoundedPending, story) == ([], 1)


def test_one_pending_too_many_is_found() -> None:
    story = _sent(0, 1, 2, max_pending_messages=2)
    _succeed(story, 0, 1, 2)
    assert judged(BoundedPending, story)[0] == ["too-many-pending"]


def test_members_of_a_batch_count_one_by_one() -> None:
    story = Script()
    story.producer(max_pending_messages=2)
    for number in range(3):
        story.send(number)
    story.send_frame(0, 1, 2)
    story.receipt(0)
    for number in range(3):
        story.ok(number)
    assert judged(BoundedPending, story)[0] == ["too-many-pending"]


def test_receipts_of_two_sends_under_one_id_are_not_told_apart() -> None:
    story = Script()
    story.producer(max_pending_messages=1, batching=True)
    for number in range(3):
        story.send(number)
    story.send_frame(0, batch=True)
    story.unknown(0)
    story.send_frame(1, batch=True, sequence_id=0)
    story.receipt(0)
    story.send_frame(2, batch=True, sequence_id=1)
    _succeed(story, 1, 2)
    assert judged(BoundedPending, story)[0] == []


def test_stream_in_which_a_send_came_twice_is_not_judged() -> None:
    story = Script()
    story.producer(max_pending_messages=2)
    for number in range(3):
        story.send(number)
    story.send_frame(0, fate=Fate.DUPLICATED)
    story.send_frame(1)
    story.send_frame(2)
    _succeed(story, 0, 1, 2)
    assert judged(BoundedPending, story)[0] == []


def test_send_that_failed_may_have_left_the_queue_before() -> None:
    story = _sent(0, 1, 2, max_pending_messages=2)
    story.unknown(0)
    _succeed(story, 1, 2)
    assert judged(BoundedPending, story)[0] == []


def test_resend_counts_once() -> None:
    story = _sent(0, 1, max_pending_messages=2)
    story.cut()
    story.producer_again()
    story.send_frame(0, conn=1)
    story.send_frame(1, conn=1)
    for number in (0, 1):
        story.receipt(number, conn=1)
        story.ok(number)
    assert judged(BoundedPending, story)[0] == []


# --- by bytes ---------------------------------------------------------------------------------------------------------


def _of_one_client(limit_messages: int, *handles: int, **config: Any) -> Script:
    """Producers of a client with room for so many messages."""
    story = Script()
    limit = limit_messages * MESSAGE_BYTES
    story.complete(story.invoke("open_client", 9, args={"config": {"memory_limit_bytes": limit}}))
    for producer_id, handle in enumerate(handles):
        args = {"topic": "t", "client": 9, "config": {"memory_limit_bytes": limit, **config}}
        opening = story.invoke("open_producer", handle, args=args)
        if producer_id == 0:
            story.connected()
        story.producer_ready(producer_id=producer_id, name=f"p{handle}")
        story.complete(opening, producer_name=f"p{handle}")
    return story


def _two_producers(limit_messages: int) -> Script:
    """Both send two."""
    story = _of_one_client(limit_messages, 1, 3)
    for number in (0, 1):
        for handle, producer_id in ((1, 0), (3, 1)):
            story.send(number, handle)
            story.send_frame(number, handle=handle, producer_id=producer_id, name=f"p{handle}")
    for number in (0, 1):
        for handle, producer_id in ((1, 0), (3, 1)):
            story.receipt(number, producer_id=producer_id)
            story.ok(number, handle)
    return story


def test_one_message_may_cross_the_limit() -> None:
    codes, exercised = judged(BoundedMemory, _two_producers(3))
    assert (codes, exercised > 0) == ([], True)


def test_bytes_of_all_producers_count_together() -> None:
    assert judged(BoundedMemory, _two_producers(2))[0] == ["too-many-bytes"]


# --- a full queue -----------------------------------------------------------------------------------------------------


def test_full_queue_refuses_at_once() -> None:
    story = _sent(0, 1, max_pending_messages=2)
    story.send(2)
    story.fail(2)
    assert judged(FullQueue, story) == ([], 1)


def test_refusal_instead_of_blocking_is_found() -> None:
    story = _sent(0, 1, max_pending_messages=2, block_if_queue_full=True)
    story.send(2)
    story.fail(2)
    assert judged(FullQueue, story)[0] == ["refused-instead-of-blocking"]


def _refused_behind_a_time_out(after_ms: float, **config: Any) -> Script:
    """There is memory for one message; message 0 has ended when message 1 is refused, so much later."""
    story = _of_one_client(1, 1, **config)
    story.send(0)
    story.fail(0, ErrorClass.TIMEOUT)
    story.after(after_ms).send(1)
    story.fail(1)
    return story


def test_refusal_with_memory_of_what_ended_is_found() -> None:
    assert judged(FullQueue, _refused_behind_a_time_out(150))[0] == ["refused-with-room"]


def test_memory_of_what_just_ended_may_not_be_free_yet() -> None:
    assert judged(FullQueue, _refused_behind_a_time_out(0)) == ([], 1)


def test_memory_that_another_producer_of_the_client_holds_is_full() -> None:
    story = _of_one_client(1, 1, 3)
    story.send(0, 3)
    story.send(0, 1)
    story.fail(0, handle=1)
    assert judged(FullQueue, story) == ([], 1)


def test_batches_may_hold_more_memory_than_their_messages() -> None:
    story = _of_one_client(3, 1, batching=True)
    story.send(0)
    story.send(1)
    story.fail(1)
    assert judged(FullQueue, story) == ([], 1)


def test_late_refusal_is_found() -> None:
    story = _sent(0, 1, max_pending_messages=2)
    story.send(2)
    story.after(600)
    story.fail(2)
    assert judged(FullQueue, story)[0] == ["refused-late"]


def test_refusal_with_room_is_found() -> None:
    story = _sent(0, max_pending_messages=2)
    story.send(1)
    story.fail(1)
    assert judged(FullQueue, story)[0] == ["refused-with-room"]


def test_send_that_failed_otherwise_holds_no_place() -> None:
    story = _sent(max_pending_messages=1)
    story.send(0)
    story.fail(0, ErrorClass.TOO_LARGE)
    story.after(150)
    story.send(1)
    story.fail(1)
    assert judged(FullQueue, story)[0] == ["refused-with-room"]


def test_place_of_a_send_that_just_ended_may_not_be_free_yet() -> None:
    story = _sent(0, max_pending_messages=1)
    _succeed(story, 0)
    story.send(1)
    story.fail(1)
    assert judged(FullQueue, story)[0] == []


def test_refused_message_that_is_sent_is_found() -> None:
    story = _sent(0, max_pending_messages=1)
    story.send(1)
    story.fail(1)
    story.send_frame(1)
    assert judged(FullQueue, story)[0] == ["refused-and-sent"]
