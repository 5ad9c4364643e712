"""The check of `batching.partial-batch-needs-reason`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar.batching._closing import LIMITS, asks, told

from assay_conformance.history.script import MESSAGE_BYTES, NAME, Script
from assay_conformance.model.event import Event, Meta
from assay_conformance.pulsar.checks.batching.partial_batch_needs_reason import partial_batch_needs_reason


def _trickle(left_after_ms: float, flush: bool = False, **config: Any) -> list[Event]:
    """Three batches of two messages 10 ms apart, and the next message 10 ms after each."""
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
    assert told(partial_batch_needs_reason, _trickle(201)) == ([], 3)


def test_batch_after_which_nothing_came_has_a_reason() -> None:
    assert told(partial_batch_needs_reason, _trickle(30)) == ([], 3)


def test_batches_that_leave_early_are_found() -> None:
    assert told(partial_batch_needs_reason, _crowded(35))[0] == ["left-early"]


def _by_a_free_timer(period_ms: float) -> list[Event]:
    """Messages 10 ms apart, from which whatever is there leaves once a period."""
    story = Script()
    story.producer(**LIMITS)
    begin_ms = 1_000.0
    for batch in range(10):
        numbers = range(3 * batch, 3 * batch + 3)
        for place, number in enumerate(numbers):
            story.at(begin_ms + period_ms - 35 + 10 * place).send(number)
        begin_ms += period_ms
        story.at(begin_ms).send_frame(*numbers, batch=True)
    for number in range(30):
        story.ok(number)
    return story.done()


@pytest.mark.parametrize(("period_ms", "codes"), [(200, []), (150, ["left-early"])])
def test_delay_may_count_from_when_the_batch_before_left(period_ms: float, codes: list[str]) -> None:
    assert told(partial_batch_needs_reason, _by_a_free_timer(period_ms))[0] == codes


def _hurried(batches: int, first_lasts_ms: float = 5) -> list[Event]:
    """Batches of two, 210 ms each but for the first."""
    story = Script()
    story.producer(**LIMITS)
    begins_ms = 1_050.0
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
    assert told(partial_batch_needs_reason, _hurried(batches))[0] == codes


def test_batches_that_a_full_queue_closes_have_a_reason() -> None:
    codes, exercised = told(partial_batch_needs_reason, _crowded(35, max_pending_messages=2))
    assert (codes, exercised) == ([], 6)


def test_full_batches_show_nothing_of_reasons() -> None:
    assert told(partial_batch_needs_reason, _crowded(35, batching_max_messages=2)) == ([], 0)


@pytest.mark.parametrize(("room_bytes", "codes"), [(-1, []), (0, ["left-early"])])
def test_batches_that_had_room_for_the_next_message_are_not_full(room_bytes: int, codes: list[str]) -> None:
    assert told(partial_batch_needs_reason, _crowded(35, batching_max_bytes=3 * MESSAGE_BYTES + room_bytes))[0] == codes


def test_what_stands_in_front_of_messages_may_have_filled_a_batch() -> None:
    limits = {**LIMITS, "batching_max_bytes": 3 * MESSAGE_BYTES}
    meta = Meta(producer_name=NAME, sequence_id=0, batch=2, uncompressed_size=2 * MESSAGE_BYTES + 8)
    assert told(partial_batch_needs_reason, _crowded(35, meta, **limits))[0] == []


def test_batches_of_keys_are_not_judged() -> None:
    assert told(partial_batch_needs_reason, _crowded(35, batching_type="key_based")) == ([], 0)


def _ticking(period_ms: float, **limits: Any) -> list[Event]:
    """A message every 20 ms, and what waits leaves at each tick."""
    story = Script()
    story.producer(**limits)
    waiting: list[int] = []
    for number in range(60):
        at_ms = 1_005.0 + 20 * number
        ticks = int(at_ms // period_ms)
        if waiting and ticks > int((at_ms - 20) // period_ms):
            story.at(ticks * period_ms).send_frame(*waiting, batch=True)
            waiting = []
        story.at(at_ms).send(number)
        waiting.append(number)
    for number in range(60):
        story.ok(number)
    return story.done()


@pytest.mark.parametrize(("period_ms", "codes"), [(200, []), (100, ["left-early"])])
def test_batches_that_a_timer_closes_once_a_delay_have_a_reason(period_ms: float, codes: list[str]) -> None:
    limits = {**LIMITS, "batching_max_messages": 1_000}
    assert told(partial_batch_needs_reason, _ticking(period_ms, **limits))[0] == codes
