"""The check of `batching.wider-limits-fill-batches`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.batching._closing import LIMITS, told, two_producers

from assay_conformance.history.script import MESSAGE_BYTES, Script
from assay_conformance.model.event import Event
from assay_conformance.pulsar.checks.batching.wider_limits_fill_batches import wider_limits_fill_batches


def test_wider_limits_that_save_are_told_nothing_of() -> None:
    assert told(wider_limits_fill_batches, two_producers(8 * MESSAGE_BYTES, limit=3)) == ([], 1)


def test_wider_limits_that_cost_bytes_are_told() -> None:
    assert told(wider_limits_fill_batches, two_producers(11 * MESSAGE_BYTES, limit=3)) == (["more-bytes"], 1)


def test_longer_delay_that_gathers_nothing_is_told() -> None:
    assert told(wider_limits_fill_batches, two_producers(2 * MESSAGE_BYTES, large_batch=2, limit=3)) == (
        ["no-larger-batches"],
        1,
    )


def _slow(*, disturbed: bool, lag_ms: int = 0) -> list[Event]:
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
    story.load(100, loop_lag_ms=lag_ms)
    return story.done()


@pytest.mark.parametrize(("disturbed", "codes"), [(True, []), (False, ["longer-waits"])])
def test_waits_are_compared_where_nothing_went_wrong(disturbed: bool, codes: list[str]) -> None:
    assert told(wider_limits_fill_batches, _slow(disturbed=disturbed))[0] == codes


def test_waits_on_a_late_machine_are_not_compared() -> None:
    assert told(wider_limits_fill_batches, _slow(disturbed=False, lag_ms=200))[0] == []


def test_messages_too_far_apart_to_gather_are_not_compared() -> None:
    assert told(wider_limits_fill_batches, two_producers(2 * MESSAGE_BYTES, apart_ms=300, large_batch=2, limit=3)) == (
        [],
        0,
    )
