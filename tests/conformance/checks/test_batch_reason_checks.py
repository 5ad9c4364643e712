"""Why batches leave, and what they save: good and bad histories by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.batching import (
    FramesByBatchSize,
    HalfBuilds,
    LargerBatchesCostLess,
    LeavesForAReason,
    WiderLimitsSave,
)
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import MESSAGE_BYTES, NAME, Script
from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.event import Event, Meta
from assay_conformance.model.policy import Rate

LIMITS: dict[str, Any] = {
    "batching": True,
    "batching_max_messages": 4,
    "batching_max_bytes": 10_000,
    "batching_max_publish_delay_ms": 200,
}


def told(check: type[Check], events: list[Event]) -> tuple[list[str], int]:
    tried = trial(check, events)
    return [finding.code for finding in tried.findings], tried.exercised


def asks(story: Script, *numbers: int, every_ms: float = 1) -> None:
    for number in numbers:
        story.send(number)
        story.after(every_ms)


# --- half builds while half waits -------------------------------------------------------------------------------------


def _two_batches(second_ms: float, queue: int = 8) -> list[Event]:
    """The first batch is receipted at 400 ms, the second was full at 108 ms."""
    story = Script()
    story.producer(**LIMITS, max_pending_messages=queue, block_if_queue_full=True)
    story.at(100)
    asks(story, *range(8))
    if second_ms > 400:
        story.at(109).send_frame(0, 1, 2, 3, batch=True)
        story.at(400).receipt(0)
        story.at(second_ms).send_frame(4, 5, 6, 7, batch=True)
    else:
        story.at(109).send_frame(0, 1, 2, 3, batch=True)
        story.at(second_ms).send_frame(4, 5, 6, 7, batch=True)
        story.at(400).receipt(0)
    for number in range(8):
        story.ok(number)
    return story.done()


def test_batch_that_leaves_while_the_one_before_it_waits_is_accepted() -> None:
    assert told(HalfBuilds, _two_batches(120)) == ([], 1)


def test_full_batch_that_waits_for_a_receipt_is_found() -> None:
    assert told(HalfBuilds, _two_batches(402)) == (["waited-for-receipt"], 0)


def test_batch_for_which_the_queue_has_no_room_is_not_judged() -> None:
    assert told(HalfBuilds, _two_batches(402, queue=7)) == ([], 0)


def test_batch_that_its_broker_may_read_late_is_not_judged() -> None:
    slow = Topology(topics=(Topic(name="t", publish_rate=Rate(messages=5)),))
    tried = trial(HalfBuilds, _two_batches(402), msgspec.structs.replace(ANY_CASE, topology=slow))
    assert (tried.findings, tried.exercised) == ([], 0)


def test_batch_that_was_refused_ahead_of_the_first_receipt_leaves_room_for_one() -> None:
    story = Script()
    story.producer(**LIMITS, max_pending_messages=8, block_if_queue_full=True)
    story.at(100)
    asks(story, *range(16))
    story.at(117).send_frame(0, 1, 2, 3, batch=True)
    story.send_frame(4, 5, 6, 7, batch=True)
    story.down("SEND_ERROR", producer_id=0, sequence_id=4, fields={"error": "NotAllowedError"})
    story.at(118).send_frame(8, 9, 10, 11, batch=True)
    story.at(400).receipt(0)
    story.receipt(8)
    story.at(402).send_frame(12, 13, 14, 15, batch=True)
    assert told(HalfBuilds, story.done())[0] == []


# --- frames by batch size ---------------------------------------------------------------------------------------------


def _burst(*cuts: int) -> list[Event]:
    """Sixteen messages at once, in batches of these sizes."""
    story = Script()
    story.producer(**LIMITS)
    story.at(100)
    asks(story, *range(sum(cuts)))
    first = 0
    for size in cuts:
        story.send_frame(*range(first, first + size), batch=True)
        first += size
    for number in range(sum(cuts)):
        story.ok(number)
    return story.done()


@pytest.mark.parametrize("cuts", [(4, 4, 4, 4), (1, 4, 4, 4, 3)])
def test_burst_in_full_batches_is_accepted(cuts: tuple[int, ...]) -> None:
    assert told(FramesByBatchSize, _burst(*cuts)) == ([], 1)


def test_burst_in_half_batches_is_found() -> None:
    assert told(FramesByBatchSize, _burst(*[2] * 8)) == (["too-many-frames"], 0)


@pytest.mark.parametrize(("header_bytes", "codes"), [(MESSAGE_BYTES, []), (0, ["too-many-frames"])])
def test_what_stands_in_front_of_messages_may_fill_the_frames_of_a_burst(header_bytes: int, codes: list[str]) -> None:
    story = Script()
    story.producer(**{**LIMITS, "batching_max_bytes": 4 * MESSAGE_BYTES})
    story.at(100)
    asks(story, *range(16))
    size = 2 * (MESSAGE_BYTES + header_bytes)
    for first in range(0, 16, 2):
        meta = Meta(producer_name=NAME, sequence_id=first, batch=2, uncompressed_size=size)
        story.send_frame(first, first + 1, batch=True, meta=meta)
    for number in range(16):
        story.ok(number)
    assert told(FramesByBatchSize, story.done())[0] == codes


def test_messages_that_come_slowly_are_no_burst() -> None:
    story = Script()
    story.producer(**LIMITS)
    story.at(100)
    for number in range(8):
        story.send(number)
        story.after(60).send_frame(number, batch=True)
    for number in range(8):
        story.ok(number)
    assert told(FramesByBatchSize, story.done()) == ([], 0)


# --- leaves for a reason ----------------------------------------------------------------------------------------------


def _trickle(left_after_ms: float, flush: bool = False, **config: Any) -> list[Event]:
    """Three batches of two messages 10 ms apart, and the next message 10 ms behind each."""
    story = Script()
    story.producer(**{**LIMITS, **config})
    for round_ms in (1_000, 2_000, 3_000):
        first = (round_ms // 1_000 - 1) * 2
        story.at(round_ms)
        asks(story, first, first + 1, every_ms=10)
        if flush:
            story.complete(story.invoke("flush", 1))
        story.at(round_ms + left_after_ms).send_frame(first, first + 1, batch=True)
        story.after(1).receipt(first)
        story.ok(first)
        story.ok(first + 1)
    return story.done()


def _crowded(left_after_ms: float, meta: Meta | None = None, **config: Any) -> list[Event]:
    """Messages 20 ms apart, of which two leave at a time."""
    told_of_it: dict[str, Any] = {} if meta is None else {"meta": meta}
    story = Script()
    story.producer(**{**LIMITS, **config})
    for number in range(12):
        story.at(1_000 + 20 * number).send(number)
        if number % 2:
            story.at(1_000 + 20 * (number - 1) + left_after_ms).send_frame(number - 1, number, batch=True, **told_of_it)
    for number in range(12):
        story.ok(number)
    return story.done()


def test_batch_that_leaves_by_its_delay_has_a_reason() -> None:
    assert told(LeavesForAReason, _trickle(201)) == ([], 3)


def test_batch_after_which_nothing_came_has_a_reason() -> None:
    assert told(LeavesForAReason, _trickle(30)) == ([], 3)


def test_batches_that_leave_early_are_found() -> None:
    assert told(LeavesForAReason, _crowded(35))[0] == ["left-early"]


def _hurried(batches: int, first_lasts_ms: float = 5) -> list[Event]:
    """Batches of two, 210 ms each but for the first."""
    story = Script()
    story.producer(**LIMITS)
    begins_ms = 1_000.0
    for batch in range(batches):
        lasts_ms = first_lasts_ms if batch == 0 else 210
        for number in (2 * batch, 2 * batch + 1):
            story.at(begins_ms + number % 2).send(number)
        story.at(begins_ms + lasts_ms).send_frame(2 * batch, 2 * batch + 1, batch=True)
        begins_ms += lasts_ms + 5
    for number in range(2 * batches):
        story.ok(number)
    return story.done()


@pytest.mark.parametrize(("batches", "codes"), [(9, []), (10, ["left-early"]), (19, ["left-early"]), (20, [])])
def test_one_batch_without_a_reason_is_too_much_of_ten(batches: int, codes: list[str]) -> None:
    assert told(LeavesForAReason, _hurried(batches))[0] == codes


def test_batches_that_a_full_queue_closes_have_a_reason() -> None:
    codes, exercised = told(LeavesForAReason, _crowded(35, max_pending_messages=2))
    assert (codes, exercised) == ([], 6)


def test_full_batches_show_nothing_of_reasons() -> None:
    assert told(LeavesForAReason, _crowded(35, batching_max_messages=2)) == ([], 0)


@pytest.mark.parametrize(("room_bytes", "codes"), [(-1, []), (0, ["left-early"])])
def test_batches_that_had_room_for_the_next_message_are_not_full(room_bytes: int, codes: list[str]) -> None:
    assert told(LeavesForAReason, _crowded(35, batching_max_bytes=3 * MESSAGE_BYTES + room_bytes))[0] == codes


def test_what_stands_in_front_of_messages_may_have_filled_a_batch() -> None:
    limits = {**LIMITS, "batching_max_bytes": 3 * MESSAGE_BYTES}
    meta = Meta(producer_name=NAME, sequence_id=0, batch=2, uncompressed_size=2 * MESSAGE_BYTES + 8)
    assert told(LeavesForAReason, _crowded(35, meta, **limits))[0] == []


def test_batches_of_keys_are_not_judged() -> None:
    assert told(LeavesForAReason, _crowded(35, batching_type="key_based")) == ([], 0)


# --- what batches save ------------------------------------------------------------------------------------------------


def _two_producers(
    large_bytes: int,
    *,
    apart_ms: float = 1,
    large_batch: int = 10,
    delay_ms: int = 200,
    limit: int = 2,
    last_bytes: int = MESSAGE_BYTES,
) -> list[Event]:
    """Ten messages each: producer 1 in batches of two, producer 2 in larger ones of so many bytes. `last_bytes`: of the
    last message of each."""
    story = Script()
    small = {**LIMITS, "batching_max_messages": limit, "batching_max_publish_delay_ms": 1}
    large = {**LIMITS, "batching_max_messages": 10, "batching_max_publish_delay_ms": delay_ms}
    story.producer(1, **small)
    story.producer(2, producer_id=1, name="other", **large)
    for handle, size in ((1, 2), (2, large_batch)):
        for first in range(0, 10, size):
            for number in range(first, first + size):
                story.send(number, handle, size=last_bytes if number == 9 else MESSAGE_BYTES)
            frame_bytes = large_bytes if handle == 2 else 2 * MESSAGE_BYTES
            name = "other" if handle == 2 else NAME
            numbers = range(first, first + size)
            story.send_frame(*numbers, handle=handle, producer_id=handle - 1, name=name, batch=True, size=frame_bytes)
            story.after(apart_ms)
        for number in range(10):
            story.ok(number, handle)
    return story.done()


def test_larger_batches_of_fewer_bytes_are_accepted() -> None:
    assert told(LargerBatchesCostLess, _two_producers(8 * MESSAGE_BYTES)) == ([], 1)


def test_larger_batches_of_more_bytes_are_found() -> None:
    assert told(LargerBatchesCostLess, _two_producers(11 * MESSAGE_BYTES)) == (["more-bytes-a-message"], 0)


def test_two_in_a_hundred_are_within_what_sizes_scatter() -> None:
    assert told(LargerBatchesCostLess, _two_producers(round(10.1 * MESSAGE_BYTES))) == ([], 1)


def test_batches_of_unlike_messages_are_not_compared() -> None:
    assert told(LargerBatchesCostLess, _two_producers(11 * MESSAGE_BYTES, last_bytes=MESSAGE_BYTES + 1)) == ([], 0)


def test_wider_limits_that_save_are_told_nothing_of() -> None:
    assert told(WiderLimitsSave, _two_producers(8 * MESSAGE_BYTES, limit=3)) == ([], 1)


def test_wider_limits_that_cost_bytes_are_told() -> None:
    assert told(WiderLimitsSave, _two_producers(11 * MESSAGE_BYTES, limit=3)) == (["more-bytes"], 1)


def test_longer_delay_that_gathers_nothing_is_told() -> None:
    assert told(WiderLimitsSave, _two_producers(2 * MESSAGE_BYTES, large_batch=2, limit=3)) == (
        ["no-larger-batches"],
        1,
    )


def _slow(*, disturbed: bool) -> list[Event]:
    story = Script()
    for handle, delay_ms, waits_ms in ((1, 1, 0), (2, 40, 300)):
        batch, name = 2 if handle == 1 else 10, f"p{handle}"
        limits = {**LIMITS, "batching_max_messages": batch + 1, "batching_max_publish_delay_ms": delay_ms}
        story.producer(handle, producer_id=handle - 1, name=name, **limits)
        for first in range(0, 10, batch):
            numbers = range(first, first + batch)
            for number in numbers:
                story.send(number, handle)
            story.send_frame(*numbers, handle=handle, producer_id=handle - 1, name=name, batch=True, size=batch)
            story.after(1)
        if disturbed:
            story.fired(action="hold")
        story.after(waits_ms)
        for number in range(10):
            story.ok(number, handle)
    return story.done()


@pytest.mark.parametrize(("disturbed", "codes"), [(True, []), (False, ["longer-waits"])])
def test_waits_are_compared_where_nothing_went_wrong(disturbed: bool, codes: list[str]) -> None:
    assert told(WiderLimitsSave, _slow(disturbed=disturbed))[0] == codes


def test_messages_too_far_apart_to_gather_are_not_compared() -> None:
    assert told(WiderLimitsSave, _two_producers(2 * MESSAGE_BYTES, apart_ms=300, large_batch=2, limit=3)) == ([], 0)
